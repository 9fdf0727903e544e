// Package clients runs third-party clients against the real server, unmodified and at pinned
// versions. It contains only tests. make clients runs them all; make test runs those that need no
// network.
//
//   - TypeScript and Go clients are generated from the committed OpenAPI document and compiled. Two of
//     them call every operation: the hey-api client through Prism, which checks requests and responses
//     against the document, and the ogen client, which decodes strictly.
//   - MCP clients call every read tool with example values from its published schema and the OpenAPI
//     document.
//   - A page in Chromium calls the server from another origin.
//
// Calls and their order are in steps_test.go. Every call must succeed.
package clients
