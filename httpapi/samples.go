package httpapi

import (
	"cmp"
	"net/http"
	"strings"
)

// exampleCall is an example call of an operation. The key is in the environment variable API_KEY.
type exampleCall struct {
	method, url, body string
	path              string // part of url: path and query
}

func newExampleCall(publicURL string, op *operation) exampleCall {
	c := exampleCall{method: op.method(), path: basePath + op.samplePath()}
	if op.Sample != "" {
		c.path += "?" + op.Sample
	}
	c.url = cmp.Or(publicURL, defaultURL) + c.path
	if op.Body != nil {
		c.body = string(mustEncodeJSON(op.Body.Example))
	}
	return c
}

// samples returns the call in several languages.
func (c exampleCall) samples() []Sample {
	return []Sample{
		{"curl", c.curl()}, {"Python", c.python()}, {"JavaScript", c.javaScript()}, {"Go", c.golang()},
	}
}

func (c exampleCall) curl() string {
	call := "curl "
	if c.method != http.MethodGet && (c.method != http.MethodPost || c.body == "") { // a body makes it a POST
		call += "-X " + c.method + " "
	}
	call += "-H \"X-API-Key: $API_KEY\""
	if c.body != "" {
		call += " -H \"Content-Type: application/json\" \\\n  -d '" + c.body + "'"
	}
	return call + " \\\n  \"" + c.url + "\""
}

// python uses the package requests.
func (c exampleCall) python() string {
	lines := []string{
		"import os, requests", "",
		"response = requests." + strings.ToLower(c.method) + "(",
		"    \"" + c.url + "\",",
		"    headers={\"X-API-Key\": os.environ[\"API_KEY\"]},",
	}
	if c.body != "" {
		lines = append(lines, "    json="+pythonLiteral.Replace(c.body)+",")
	}
	lines = append(lines, ")", "response.raise_for_status()", "print(response.text)")
	return strings.Join(lines, "\n")
}

// pythonLiteral spells the constants of JSON as Python does. Example bodies have no such text in
// strings.
var pythonLiteral = strings.NewReplacer("true", "True", "false", "False", "null", "None")

func (c exampleCall) javaScript() string {
	lines := []string{"const response = await fetch(\"" + c.url + "\", {"}
	headers := "\"X-API-Key\": process.env.API_KEY"
	if c.method != http.MethodGet {
		lines = append(lines, "  method: \""+c.method+"\",")
	}
	if c.body != "" {
		headers += ", \"Content-Type\": \"application/json\""
		lines = append(lines, "  headers: { "+headers+" },", "  body: JSON.stringify("+c.body+"),")
	} else {
		lines = append(lines, "  headers: { "+headers+" },")
	}
	lines = append(lines, "});", "if (!response.ok) throw new Error(await response.text());", "console.log(await response.text());")
	return strings.Join(lines, "\n")
}

func (c exampleCall) golang() string {
	body := "nil"
	if c.body != "" {
		body = "strings.NewReader(`" + c.body + "`)"
	}
	lines := []string{
		"req, err := http.NewRequest(\"" + c.method + "\", \"" + c.url + "\", " + body + ")",
		"if err != nil {", "\tlog.Fatal(err)", "}",
		"req.Header.Set(\"X-API-Key\", os.Getenv(\"API_KEY\"))",
	}
	if c.body != "" {
		lines = append(lines, "req.Header.Set(\"Content-Type\", \"application/json\")")
	}
	lines = append(lines,
		"resp, err := http.DefaultClient.Do(req)", "if err != nil {", "\tlog.Fatal(err)", "}",
		"defer resp.Body.Close()", "io.Copy(os.Stdout, resp.Body)")
	return strings.Join(lines, "\n")
}
