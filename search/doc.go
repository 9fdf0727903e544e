// Package search is the in-memory index of the registry: it answers every search, filter, count and list with an exact
// total, from one process's memory.
//
// An Index holds an immutable View behind an atomic pointer. Readers take the view and no lock. A writer collects changes in
// an Update and publishes them all at once with Commit. A view is made of segments: each holds some labels in result order
// (approval date newest first, then TTB id descending, undated last), so that postings come out sorted, a date window is a
// range of document numbers, and a page is the first bits of a bitmap. A label that changes is written again into a new
// segment and marked dead in its old one. Segments are folded together in the background from their own columns.
//
// Within a segment everything is a column of numbers, a dictionary or a posting list, none of which holds pointers, so the
// garbage collector has nothing to walk.
package search
