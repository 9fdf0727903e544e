package sqlite

import (
	"context"
	"sync"
	"testing"
	"time"
)

// TestViewsDoNotWaitForEachOther: as many views as there are connections, each in need of a statement that nobody has prepared yet, end.
func TestViewsDoNotWaitForEachOther(t *testing.T) {
	s := mustOpen(t, t.TempDir()+"/registry.db", Options{})
	const query = `SELECT 40 + 2`
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var begun, ended sync.WaitGroup
	begun.Add(readConnections)
	for range readConnections {
		ended.Go(func() {
			err := s.read.view(ctx, func(q querier) error {
				begun.Done()
				begun.Wait() // every connection is taken
				var got int
				return q.row(ctx, query).Scan(&got)
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	ended.Wait()
	if _, ok := s.read.stmts.Load(query); !ok {
		t.Error("the statement is not prepared for the next view")
	}
}
