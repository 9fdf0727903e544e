// Package clients runs other people's clients against the real server, unmodified and at pinned
// versions. It holds tests only; make clients runs them all, make test those that need no network.
//
// TypeScript and Go clients are generated from the committed OpenAPI document and compiled, and every
// operation of the document is called through two of them: that of hey-api, through Prism, which
// checks requests and responses against the document, and that of ogen, which decodes strictly. MCP
// clients call every read tool with the examples of its published schema. A page in Chromium calls the
// server from another origin.
//
// Calls and their order are in steps_test.go. Every call must succeed.
package clients
