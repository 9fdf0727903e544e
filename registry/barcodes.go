package registry

import (
	"context"
	"time"

	"github.com/colaregistry/colaregistry/cola"
)

// maxBarcodeColas is the maximum number of labels that a barcode lookup returns.
const maxBarcodeColas = 100

// Barcode returns the labels with the given barcode, newest approval first. It costs one list
// record per label returned; an unknown barcode is free. If fewer list records are left, the list
// is truncated and TruncatedByQuota is true.
func (s *Service) Barcode(
	ctx context.Context, c cola.Caller, value string,
) (cola.BarcodeResult, cola.QuotaState, error) {
	return s.BarcodeLimited(ctx, c, value, nil)
}

// BarcodeLimited is Barcode for a response of limited size; it truncates the list to the labels
// that fit.
func (s *Service) BarcodeLimited(
	ctx context.Context, c cola.Caller, value string, limit RowLimit[cola.ColaSummary],
) (cola.BarcodeResult, cola.QuotaState, error) {
	if state, err := s.precheck(c); err != nil {
		return cola.BarcodeResult{}, state, err
	}
	start := time.Now()
	view := s.index.View()
	found, ok := view.Barcode(value, maxBarcodeColas)
	s.metrics.observeSearch(byBarcode, start)
	if !ok {
		state, err := s.Refuse(ctx, c, cola.Errorf(cola.CodeNotFound, "No label has the barcode %s.",
			cola.Quoted(value)))
		return cola.BarcodeResult{}, state, err
	}
	charged, state, err := chargeRows(ctx, s, c, pageOf{"barcode", value, view}, found.Colas, false, limit)
	if err != nil {
		return cola.BarcodeResult{}, state, err
	}
	found.Colas, found.TruncatedByQuota = charged.rows, charged.truncated
	return found, state, nil
}
