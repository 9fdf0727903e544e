// Package collect obtains labels from TTB's Public COLA Registry.
//
// # Flow
//
// Run plans days of completed dates and works until they are collected:
//
//  1. It claims a day, the latest first, and searches for it. The result page states the total.
//  2. If the export can't list that many rows, the day is split into ranges of class/type codes, and
//     each is searched on its own.
//  3. It downloads the export and imports its rows with package ingest. Before a batch of rows is
//     stored, its new labels, and those whose completed date has changed, are queued.
//  4. The day is complete if the export had as many rows as the page stated.
//  5. If no day is due, it claims a queued label, the latest first, fetches its printable form and
//     imports it. If the site has no form, the detail page takes its place.
//  6. It fetches the label's images, if they are wanted, in the session that opened the form. Then it
//     removes the label from the queue. If the site lacks an image, or this collector fetches none,
//     the images are postponed instead.
//
// # Failures
//
// All state is in the database. A collector that is killed loses its claims, and repeats at most
// the request in flight: labels are queued before their rows are stored, and a day or label is
// finished after all its data is stored. A failed request is repeated after a random wait that
// grows with the attempts. After MaxAttempts, a day is incomplete and a label failed, until the
// next run or, with Follow, the next daily plan, which includes all failed labels but only recent
// days. After several failures in a row, a probe repeats a request that has worked. If that fails,
// too, the site is down: attempts don't count, and if it stays down, a run without Follow ends.
// Panics count as failed attempts. So do errors of the stores with Follow, unless they are down.
//
// Any number of processes can collect. Each request reserves a slot in the database, so they share
// one rate limit. If the site blocks one of them, all stop. Quiet hours of one of them pause all.
//
// A server has a Follower, which survives failures of Run and waits while the site is blocked.
package collect
