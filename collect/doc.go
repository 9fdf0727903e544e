// Package collect obtains labels from TTB's Public COLA Registry.
//
// # Flow
//
// Run plans days by completion date and works until they are collected:
//
//  1. It claims a day, latest first, and searches for its labels. The result page states the total.
//  2. If the export can't list that many rows, the day is split into ranges of class/type codes, and
//     each range is searched separately.
//  3. It downloads the export and imports its rows with package ingest. Before a batch of rows is
//     stored, its new labels, and those with a new completion date, are queued.
//  4. The day is complete if the export had as many rows as the page stated.
//  5. If no day is due, it claims a queued label, latest first, fetches its printable form and
//     imports it. If the site has no form, it uses the detail page instead.
//  6. If the label was queued with images, it fetches them in the session that opened the form. It
//     then removes the label from the queue. If the site doesn't have an image, or this collector
//     fetches none, it postpones the images instead.
//
// # Failures
//
// All state is in the database. If a collector is killed, its claim expires, and the next collector
// repeats at most the requests for one day or label: labels are queued before their rows are
// stored, and a day or label is marked finished only after all its data is stored.
//
// A failed day or label is retried after a random wait that grows with each attempt. After
// MaxAttempts, a day is marked as incomplete, or a label as failed, until the next run retries it.
// With Follow, the next daily plan retries all failed labels, but only recent days. Panics count as
// failed attempts. With Follow, so do store errors, unless the store is down.
//
// After several failures in a row, a probe sends an unrelated request. If it also fails, the site
// is down: attempts don't count, and if the outage lasts, a run without Follow ends.
//
// Any number of processes can collect. Each request reserves a slot in the database, so they share
// one rate limit. If the site blocks one process, all stop. When quiet hours begin for one, all
// pause.
//
// A server runs a Follower, which restarts failed runs and waits while the site is blocked.
package collect
