package httpapi

import "slices"

// The groups of the reference.
const (
	tagColas        = "Labels"
	tagPermittees   = "Permittees"
	tagAccount      = "Account"
	tagSearches     = "Saved searches"
	tagDestinations = "Destinations"
	tagReference    = "Reference data"
)

// free is the cost of what no quota pays for.
const free = "Free; counts in the burst."

// operations is every authenticated endpoint in the order of the reference.
func operations(svc Service) []operation {
	return slices.Concat(
		colaOperations(svc),
		barcodeOperations(svc),
		permitteeOperations(svc),
		usageOperations(svc),
		savedSearchOperations(svc),
		runOperations(svc),
		feedOperations(svc),
		destinationOperations(svc),
		deliveryOperations(svc),
		processingTimeOperations(svc),
		productionReportOperations(svc),
		avaOperations(svc),
	)
}
