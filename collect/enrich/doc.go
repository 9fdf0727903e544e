// Package enrich asks a model for label fields that no other source has, such as flavors or the
// type of container. It is optional and off by default.
//
// # Flow
//
// Run visits the labels with detail that have no result from the model yet or have changed since
// their latest result, most recently received first:
//
//  1. It claims the label and hashes the input: the label's fields and its main image, if images
//     are used. If the model has answered for the same input, steps 2 to 4 are skipped.
//  2. It counts each request toward the daily limits on requests and tokens, which all processes
//     share.
//  3. It asks the model. If the answer isn't usable, it asks once more; after a second unusable
//     answer, the label fails and is skipped until its input or the model changes. If the model
//     doesn't respond, the label is postponed, so that it doesn't delay others.
//  4. It records the answer, so that a crash doesn't lose a paid answer.
//  5. It fills fields of the label that are empty, or that an earlier answer filled. Values from
//     other sources are kept.
//
// # Trust
//
// The text on a label is written by its applicant and may contain instructions to the model. An
// answer can only fill the fields in this package's table. Its values are checked for type, length,
// range and allowed words, and other fields are dropped. The model has no tools and sees one label
// at a time.
package enrich
