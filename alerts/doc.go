// Package alerts runs saved searches that have a schedule: it claims those that are due, looks for what is new to them, and has the
// store record what was found together with how far each has looked.
//
// A tick does all of that once. Any number of processes may tick at the same time: a search that one of them has claimed is not
// given to another, and what a claim led to is recorded only while it still holds. So a tick that is cut off anywhere, by an error
// or by the end of its process, has run some searches wholly and others not at all.
//
// Searches are matched by an index of their own (package search) that holds nothing but the labels that have arrived of late. It is read
// from the database in one consistent state, so a run needs no process that follows the store, does not depend on how far
// another one has come, and costs as much as there is news, not as much as there are labels.
//
// What a run found comes to be delivered in the transaction that records it. A Courier claims what is due, in the same way, hands it to the
// Sender of its kind (packages alerts/mail and alerts/webhook) and has the store note what came of it. A courier that is cut off between the two
// makes another one send again, with the same id: every message is sent at least once.
package alerts
