package registry

import (
	"context"
	"time"

	"github.com/colaregistry/colaregistry/cola"
)

// maxBarcodeColas is how many labels a barcode lookup returns at most.
const maxBarcodeColas = 100

// Barcode returns the labels that carry a barcode, newest approval first. It costs a list record
// for each label returned; a barcode that no label carries is free. The list is cut to the list
// records that are left, and TruncatedByQuota says so.
func (s *Service) Barcode(
	ctx context.Context, c cola.Caller, value string,
) (cola.BarcodeResult, cola.QuotaState, error) {
	return s.BarcodeFit(ctx, c, value, nil)
}

// BarcodeFit is Barcode for a response of limited size; it cuts the list to the labels that fit.
func (s *Service) BarcodeFit(
	ctx context.Context, c cola.Caller, value string, fit Fit[cola.ColaSummary],
) (cola.BarcodeResult, cola.QuotaState, error) {
	if state, err := s.precheck(c); err != nil {
		return cola.BarcodeResult{}, state, err
	}
	begun := time.Now()
	found, ok := s.index.View().Barcode(value, maxBarcodeColas)
	s.metrics.observeSearch(byBarcode, begun)
	if !ok {
		state, err := s.Refuse(ctx, c, cola.Errorf(cola.CodeNotFound, "No label carries the barcode %s.",
			cola.Quoted(value)))
		return cola.BarcodeResult{}, state, err
	}
	found.Colas, _ = fit.cut(found.Colas)
	grant, err := s.ledger.Charge(ctx, quotaRequest(c, cola.MeterListRecords, len(found.Colas)))
	if err != nil {
		return cola.BarcodeResult{}, grant.State, err
	}
	found.TruncatedByQuota = grant.Units < len(found.Colas)
	found.Colas = found.Colas[:grant.Units]
	return found, grant.State, nil
}
