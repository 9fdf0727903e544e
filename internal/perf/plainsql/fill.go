package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/sync/errgroup"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

// recentDays is how far back the indexes of recent labels reach: the default window, and a month until they are made anew.
const recentDays = cola.DefaultWindowDays + 31

// step is one part of the making of the tables, and how long it took.
type step struct {
	name string
	took time.Duration
}

// fill makes the tables of plain SQL from what a store holds, the vocabulary on the way, and returns how long each step took.
func fill(ctx context.Context, pool *pgxpool.Pool, st store.Changes, v *vocabulary, now time.Time, progress func(string)) ([]step, error) {
	var steps []step
	recent := strings.NewReplacer("{recent}", "DATE '"+cola.DateOf(now).AddDays(-recentDays).String()+"'")
	for _, s := range sections(schemaSQL) {
		for _, command := range commands(recent.Replace(s.text)) {
			progress(s.name + ": " + firstLine(command))
			begun := time.Now()
			if _, err := pool.Exec(ctx, command); err != nil {
				return nil, fmt.Errorf("%s: %s: %w", s.name, firstLine(command), err)
			}
			steps = append(steps, step{s.name, time.Since(begun)})
		}
		if s.name == "tables" {
			progress("copy")
			begun := time.Now()
			if err := copyIn(ctx, pool, st, v); err != nil {
				return nil, fmt.Errorf("copy: %w", err)
			}
			steps = append(steps, step{"copy", time.Since(begun)})
		}
	}
	v.settle()
	return steps, nil
}

func firstLine(command string) string {
	line, _, _ := strings.Cut(command, "\n")
	return line
}

// table is one that rows are copied into.
type table struct {
	name    string
	columns []string
	rows    chan []any
}

func newTable(name, columns string) *table {
	return &table{name, strings.Fields(columns), make(chan []any, 1000)}
}

// copyIn copies the store's labels, barcodes and permittees as they are.
func copyIn(ctx context.Context, pool *pgxpool.Pool, st store.Changes, v *vocabulary) error {
	labels := newTable("incoming_labels", `ttb_id brand_name product_name product_type class_name origin_name permit_number
		application_status approval_date image_count has_barcode application_date container_type category_path abv address_recipient`)
	barcodes := newTable("incoming_barcodes", "gtin ttb_id")
	permittees := newTable("incoming_permittees", `permit_number company_name operating_name company_state company_zip_code
		permittee_type listed`)
	group, ctx := errgroup.WithContext(ctx)
	for _, t := range []*table{labels, barcodes, permittees} {
		group.Go(func() error { return t.copy(ctx, pool) })
	}
	group.Go(func() error {
		defer close(labels.rows)
		defer close(barcodes.rows)
		_, err := st.ColasSince(ctx, 0, func(r *cola.IndexRecord) error {
			v.offer(r)
			if err := labels.put(ctx, labelValues(r)); err != nil {
				return err
			}
			for _, b := range r.Barcodes {
				for _, number := range numbers(b.Value) {
					if err := barcodes.put(ctx, []any{number, int64(r.Summary.TTBID)}); err != nil {
						return err
					}
				}
			}
			return nil
		})
		return err
	})
	group.Go(func() error {
		defer close(permittees.rows)
		_, err := st.PermitteesSince(ctx, 0, func(p *cola.Permittee) error {
			return permittees.put(ctx, []any{cola.SettlePermit(p.PermitNumber), nullable(p.CompanyName), nullable(p.OperatingName),
				nullable(p.CompanyState), nullable(p.CompanyZipCode), nullable(p.PermitteeType), p.Listed})
		})
		return err
	})
	return group.Wait()
}

// labelValues returns a label's row.
func labelValues(r *cola.IndexRecord) []any {
	s := &r.Summary
	return []any{int64(s.TTBID), s.BrandName, nullable(s.ProductName), string(s.ProductType), nullable(s.ClassName),
		nullable(cola.Text(cola.PlaceOf(string(s.OriginName), r.OriginID, r.DomesticOrImported))),
		cola.SettlePermit(s.PermitNumber), nullable(s.ApplicationStatus), day(s.ApprovalDate), s.ImageCount,
		s.HasBarcode, day(r.ApplicationDate),
		nullable(cola.Text(r.ContainerType)), nullable(cola.Text(r.CategoryPath)), optional(r.ABV), nullable(cola.Text(r.AddressRecipient))}
}

func nullable(t cola.Text) any {
	if t == "" {
		return nil
	}
	return string(t)
}

func day(d cola.Date) any {
	if d == 0 {
		return nil
	}
	return d.Time()
}

func optional[T comparable](v cola.Opt[T]) any {
	if !v.OK {
		return nil
	}
	return v.V
}

func (t *table) put(ctx context.Context, row []any) error {
	select {
	case t.rows <- row:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// copy writes the rows that are put until their channel is closed.
func (t *table) copy(ctx context.Context, pool *pgxpool.Pool) error {
	_, err := pool.CopyFrom(ctx, pgx.Identifier{t.name}, t.columns, pgx.CopyFromFunc(func() ([]any, error) {
		select {
		case row := <-t.rows: // nil at the end
			return row, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}))
	return err
}
