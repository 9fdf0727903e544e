package web

// DefaultSiteName is the name of the service in headers and titles unless the operator sets another.
const DefaultSiteName = "Label approval registry"
