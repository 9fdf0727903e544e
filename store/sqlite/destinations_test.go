package sqlite

import (
	"testing"

	"github.com/colaregistry/colaregistry/store/storetest"
)

// TestSchemaBeforeDeliveries: accounts and searches that are there can be told what is found.
func TestSchemaBeforeDeliveries(t *testing.T) {
	path := oldDatabase(t, 9, storetest.RowsBeforeDeliveries("1763640000000000", "1763650000000000"))
	storetest.CheckRowsBeforeDeliveries(t, mustOpen(t, path, Options{Logger: quiet()}))
}
