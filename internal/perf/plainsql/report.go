package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/colaregistry/colaregistry/internal/perf/measure"
)

// printSetting prints what the figures were made on and with.
func (c *comparison) printSetting(ctx context.Context) error {
	var version string
	if err := c.modes[0].pool(1).QueryRow(ctx, `SELECT split_part(version(), ' on ', 1)`).Scan(&version); err != nil {
		return err
	}
	resident, _ := c.server.Memory()
	fmt.Printf("%d labels, %s, %s. The server of the service is ready in %.1f s and holds %d MiB. Import: %.0f s.\n\n",
		c.labels, measure.Machine(), version, c.server.ToReady.Seconds(), resident, c.imported.Seconds())
	var set []string
	for _, name := range strings.Fields("shared_buffers effective_cache_size work_mem random_page_cost jit synchronous_commit fsync") {
		var value string
		if err := c.modes[0].pool(1).QueryRow(ctx, `SELECT current_setting($1)`, name).Scan(&value); err != nil {
			return err
		}
		set = append(set, name+" "+value)
	}
	fmt.Printf("Settings of PostgreSQL: %s.\n\n", strings.Join(set, ", "))
	c.printSteps()
	return c.printSizes(ctx)
}

// printSteps prints how long the tables of plain SQL took to make.
func (c *comparison) printSteps() {
	fmt.Printf("| making the tables of plain SQL | took |\n|---|---|\n")
	spent := map[string]time.Duration{}
	var names []string
	for _, s := range c.steps {
		if _, known := spent[s.name]; !known {
			names = append(names, s.name)
		}
		spent[s.name] += s.took
	}
	for _, name := range names {
		fmt.Printf("| %s | %.1f s |\n", name, spent[name].Seconds())
	}
	fmt.Println()
}

// printSizes prints what the tables of plain SQL and their indexes take.
func (c *comparison) printSizes(ctx context.Context) error {
	rows, err := c.modes[0].pool(1).Query(ctx, `
		SELECT CASE relkind WHEN 'i' THEN 'index ' ELSE 'table ' END || relname, pg_relation_size(oid) / 1048576.0
		FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'i')
		ORDER BY relkind DESC, 2 DESC`)
	if err != nil {
		return err
	}
	defer rows.Close()
	fmt.Printf("| tables and indexes of plain SQL | size |\n|---|---|\n")
	for rows.Next() {
		var name string
		var size float64
		if err := rows.Scan(&name, &size); err != nil {
			return err
		}
		fmt.Printf("| %s | %.0f MiB |\n", name, size)
	}
	fmt.Println()
	return rows.Err()
}

// printAgreement prints how far the answers agree.
func (c *comparison) printAgreement() {
	fmt.Printf("| answers of plain SQL and of the service | asked | same total | same page | same page, without totals |\n|---|---|---|---|---|\n")
	for i, g := range c.agreements[0] {
		fmt.Printf("| %s | %d | %d | %d | %d |\n", g.class.name, g.asked, g.totals, g.pages, c.agreements[1][i].pages)
	}
	fmt.Println()
}

// targetNames are the columns of the tables.
var targetNames = [...]string{"plain SQL, with totals", "plain SQL, without", "the service, with totals", "its index alone"}

// printMix prints the mix, and the ratios that are aimed at.
func (c *comparison) printMix(mixed map[int][]*outcome) {
	fmt.Printf("| the mix | clients | requests/s | 50th | 99th |\n|---|---|---|---|---|\n")
	for _, clients := range clientCounts {
		for i, o := range mixed[clients] {
			fmt.Printf("| %s | %d | %.0f | %s | %s |\n", targetNames[i], clients, o.perSecond(),
				measure.Milliseconds(o.all.At(0.5)), measure.Milliseconds(o.all.At(0.99)))
		}
	}
	fmt.Printf("\n| the service against plain SQL | clients | throughput, times | 50th, times quicker | 99th, times quicker |\n|---|---|---|---|---|\n")
	for i, name := range [...]string{"with totals", "without"} {
		for _, clients := range clientCounts {
			sql, served := mixed[clients][i], mixed[clients][2]
			fmt.Printf("| %s | %d | %.1f | %.1f | %.1f |\n", name, clients, served.perSecond()/sql.perSecond(),
				measure.Ratio(sql.all.At(0.5), served.all.At(0.5)), measure.Ratio(sql.all.At(0.99), served.all.At(0.99)))
		}
	}
	fmt.Println()
}

// printClasses prints each class asked alone: requests a second, 50th and 99th percentile in milliseconds, and the ratios of
// the service to plain SQL with totals.
func (c *comparison) printClasses(clients int, alone map[*class][]*outcome) {
	compared := targetNames[:3]
	fmt.Printf("| each class alone, clients: %d |", clients)
	for _, name := range compared {
		fmt.Printf(" %s: requests/s | 50th | 99th |", name)
	}
	fmt.Printf(" throughput, times | 99th, times quicker |\n|---|%s---|---|\n", strings.Repeat("---|---|---|", len(compared)))
	for _, class := range c.classes {
		fmt.Printf("| %s |", class.name)
		for _, o := range alone[class][:len(compared)] {
			fmt.Printf(" %.0f | %s | %s |", o.perSecond(), bare(o.all.At(0.5)), bare(o.all.At(0.99)))
		}
		sql, served := alone[class][0], alone[class][2]
		fmt.Printf(" %.1f | %.1f |\n", served.perSecond()/sql.perSecond(), measure.Ratio(sql.all.At(0.99), served.all.At(0.99)))
	}
	fmt.Println()
}

// printIndex prints each class asked of the index alone by one client, in microseconds.
func (c *comparison) printIndex(alone map[*class][]*outcome) {
	fmt.Printf("| %s, one client | requests/s | 50th | 99th |\n|---|---|---|---|\n", targetNames[3])
	for _, class := range c.classes {
		o := alone[class][3]
		fmt.Printf("| %s | %.0f | %.1f µs | %.1f µs |\n", class.name, o.perSecond(), microseconds(o.all.At(0.5)), microseconds(o.all.At(0.99)))
	}
	fmt.Println()
}

// printChoices prints how plain SQL is asked.
func (c *comparison) printChoices() {
	fmt.Printf("| the quickest way to ask plain SQL | with totals | without |\n|---|---|---|\n")
	for _, class := range c.classes {
		best := c.choices[class]
		fmt.Printf("| %s | %s, %s | %s, %s |\n", class.name, best.with.name, measure.Milliseconds(best.with.average()),
			best.without.name, measure.Milliseconds(best.without.average()))
	}
	fmt.Println()
}

// bare is a time in milliseconds without the unit.
func bare(d time.Duration) string { return strings.TrimSuffix(measure.Milliseconds(d), " ms") }

func microseconds(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1000 }
