// Package enrich fills fields of labels that only a reader of the label can know, such as flavors
// or the kind of container, by asking a model. It is optional and off by default.
//
// # Flow
//
// Run visits the labels with detail for which the model has no result yet, or that have changed
// since, newest receipt first:
//
//  1. It claims the label and hashes the input: the label's fields and its main image, if images
//     are used. If the model has answered for the same input, steps 2 to 4 are skipped.
//  2. It counts each request toward the daily limits on requests and tokens, which all processes
//     share.
//  3. It asks the model. If the answer isn't usable, it asks once more; after a second unusable
//     answer, the label has failed until its input or the model changes. If there is no answer, the
//     label is postponed, so that it doesn't keep others waiting.
//  4. It records the answer, so that a crash doesn't lose what was paid for.
//  5. It fills fields of the label that are empty, or that an earlier answer filled. Values from
//     other sources are kept.
//
// # Trust
//
// The text on a label is written by its applicant and may contain instructions to the model. An
// answer can't do more than fill the fields in this package's table: they are checked for type,
// length, range and allowed words, and everything else in an answer is dropped. The model has no
// tools and sees one label at a time.
package enrich
