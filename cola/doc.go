// Package cola contains the domain types and rules of the label approval registry: labels,
// permittees, barcodes, reference data, search parameters, saved searches, destinations, quotas,
// callers and errors. It uses only the standard library.
//
// All packages share these types, so JSON fields, parameters and error messages are the same in the
// REST API, the MCP endpoint, the dashboard and imports.
package cola
