// Package cola has the domain types and rules of the label approval registry: labels, permittees,
// barcodes, reference data, search parameters, quotas, callers and errors. It uses only the
// standard library.
//
// All packages share these types, so JSON fields, the meaning of parameters and the wording of
// errors are the same on the REST API, the MCP endpoint, the dashboard and in imports.
package cola
