// Package cola holds the nouns of the label approval registry and the rules that need nothing but those nouns: labels,
// permittees, barcodes, reference data, search parameters, quotas, callers and errors.
//
// It depends on the standard library only. Every other package speaks in its types, so the JSON field names, the meaning of
// a parameter and the wording of an error are decided here once and cannot differ between the REST API, the MCP endpoint
// and the importer.
package cola
