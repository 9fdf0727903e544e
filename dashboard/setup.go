package dashboard

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/colaregistry/colaregistry/internal/web"
)

func setupRoutes() []route {
	return []route{
		get(setupPath, (*request).setup),
		get(quickstartPath, (*request).redirectToSetup), get(connectPath, (*request).redirectToSetup),
	}
}

// redirectToSetup redirects the page's former paths.
func (req *request) redirectToSetup() error {
	http.Redirect(req.w, req.http, setupPath, http.StatusMovedPermanently)
	return nil
}

// serverName is the name of this server in client settings; keyPlaceholder stands in for an API
// key.
const (
	serverName     = "colaregistry"
	keyPlaceholder = "YOUR_KEY"
)

// setup describes how to connect one program.
type setup struct {
	ID, Name string
	Before   string // instructions
	Text     string // text to copy; may be empty
	After    string // further notes
}

// Copied returns the text as a box with a button.
func (s setup) Copied() copied { return copied{"settings for " + s.Name, s.Text} }

// assistant lists the ways to connect one assistant.
type assistant struct {
	ID, Name string
	Ways     []way // best first
}

// way is one way to connect an assistant.
type way struct {
	Heading string
	setup
}

// setupPage explains how to make the first call and how to connect assistants.
type setupPage struct {
	API, MCP   string // URLs of the API and the MCP endpoint
	SignIn     bool   // apps can sign in
	Prompt     copied // commands that read a key into the environment
	Usage      copied // a free call
	Search     copied
	Assistants []assistant
	Others     setup // setup for all other clients
}

func (req *request) setup() error {
	p := setupPage{
		API: req.opts.PublicURL + apiPath, MCP: req.mcpURL(), SignIn: req.opts.SignInForApps,
		Prompt:     copied{"command", "printf 'API key: '; read -rs API_KEY; echo; export API_KEY"},
		Usage:      copied{"usage command", req.call("GET", "/usage", "").Curl()},
		Search:     copied{"search command", req.call("GET", "/colas?q=oak&per_page=3", "").Curl()},
		Assistants: req.assistants(),
		Others:     req.otherClients(keyPlaceholder),
	}
	return req.show(http.StatusOK, "setup", page{Title: "Setup", Data: p})
}

func (req *request) mcpURL() string { return req.opts.PublicURL + mcpPath }

// assistants returns the ways to connect each assistant: by signing in, with a key, or both.
func (req *request) assistants() []assistant {
	withKey := req.assistantsWithKey(keyPlaceholder)
	var list []assistant
	if !req.opts.SignInForApps {
		for _, s := range withKey {
			list = append(list, assistant{s.ID, s.Name, []way{{"With a key", s}}})
		}
		return append(list, req.withoutSignIn())
	}
	for _, s := range req.assistantsSignedIn() {
		a := assistant{s.ID, s.Name, []way{{"By signing in", s}}}
		for _, k := range withKey {
			if k.ID == s.ID {
				a.Ways = append(a.Ways, way{"With a key", k})
			}
		}
		list = append(list, a)
	}
	return list
}

// withoutSignIn explains why an assistant that accepts no keys can't be connected.
func (req *request) withoutSignIn() assistant {
	return assistant{"chatgpt", "ChatGPT", []way{{"Not available", setup{
		ID: "chatgpt", Name: "ChatGPT",
		Before: "ChatGPT doesn’t support API keys, and app sign-in isn’t set up on this server. Ask the " +
			"operator to set it up.",
	}}}}
}

// setupsWithKey returns the setups for a newly created key, with the key filled in.
func (req *request) setupsWithKey(key string) []setup {
	rest := setup{
		ID: "rest", Name: "REST API",
		Before: "Run this in a terminal. It returns your usage and is free.",
		Text:   "export API_KEY=" + key + "\n" + req.call("GET", "/usage", "").Curl(),
	}
	return append(append([]setup{rest}, req.assistantsWithKey(key)...), req.otherClients(key))
}

// assistantsWithKey returns the settings of each assistant that accepts a key.
func (req *request) assistantsWithKey(key string) []setup {
	return []setup{
		{
			ID: "claude", Name: "Claude",
			Before: "For Claude Desktop, install Node.js, add this to claude_desktop_config.json (Settings > Developer > Edit " +
				"Config), and restart Claude Desktop. The mcp-remote program forwards messages to this server.",
			Text: settings(`{
  "mcpServers": {
    "NAME": {
      "command": "npx",
      "args": ["-y", "mcp-remote@latest", "MCP", "--header", "X-API-Key:${API_KEY}"],
      "env": { "API_KEY": "SECRET" }
    }
  }
}`, "MCP", req.mcpURL(), "SECRET", key),
			After: "This works in any client that runs local MCP servers.",
		},
		{
			ID: "cursor", Name: "Cursor",
			Before: "Add to ~/.cursor/mcp.json, or .cursor/mcp.json in a project:",
			Text: settings(`{
  "mcpServers": {
    "NAME": {
      "url": "MCP",
      "headers": { "Authorization": "Bearer SECRET" }
    }
  }
}`, "MCP", req.mcpURL(), "SECRET", key),
			After: "To keep the key out of the file, use an environment variable: ${env:API_KEY}.",
		},
		{
			ID: "vs-code", Name: "VS Code",
			Before: "Add to .vscode/mcp.json. VS Code asks for the key once and doesn’t store it in this file.",
			Text: settings(`{
  "inputs": [{ "type": "promptString", "id": "NAME-key", "description": "API key", "password": true }],
  "servers": {
    "NAME": {
      "type": "http",
      "url": "MCP",
      "headers": { "Authorization": "Bearer ${input:NAME-key}" }
    }
  }
}`, "MCP", req.mcpURL()),
		},
		{
			ID: "claude-code", Name: "Claude Code",
			Before: "Run in a shell:",
			Text: fmt.Sprintf("claude mcp add --transport http %s %s --header %s",
				serverName, web.ShellQuote(req.mcpURL()), web.ShellQuote("Authorization: Bearer "+key)),
		},
	}
}

// otherClients returns the settings for clients configured with a URL and headers.
func (req *request) otherClients(key string) setup {
	return setup{
		ID: "others", Name: "Other clients",
		Before: "Use this URL and header. Setting names vary by client. The transport is Streamable HTTP.",
		Text: settings(`{
  "mcpServers": {
    "NAME": {
      "type": "http",
      "url": "MCP",
      "headers": { "Authorization": "Bearer SECRET" }
    }
  }
}`, "MCP", req.mcpURL(), "SECRET", key),
	}
}

// assistantsSignedIn returns the settings of each assistant that can sign in.
func (req *request) assistantsSignedIn() []setup {
	return []setup{
		{
			ID: "claude", Name: "Claude",
			Before: "On the web or in Claude Desktop, open Settings > Connectors, add a custom connector with this URL and " +
				"sign in. Anthropic connects from the internet, so this server needs a public https URL.",
			Text: req.mcpURL(),
		},
		{
			ID: "chatgpt", Name: "ChatGPT",
			Before: "Turn on developer mode (Settings > Apps & Connectors > Advanced settings), then create a " +
				"connector with this URL and OAuth authentication. This server needs a public https URL.",
			Text:  req.mcpURL() + "/chatgpt",
			After: "Leave the client ID and client secret blank. If ChatGPT requires them, ask the operator.",
		},
		{
			ID: "cursor", Name: "Cursor",
			Before: "Add to ~/.cursor/mcp.json, or .cursor/mcp.json in a project, then sign in when Cursor asks.",
			Text: settings(`{
  "mcpServers": {
    "NAME": { "url": "MCP" }
  }
}`, "MCP", req.mcpURL()),
		},
		{
			ID: "vs-code", Name: "VS Code",
			Before: "Add to .vscode/mcp.json, then sign in when VS Code asks.",
			Text: settings(`{
  "servers": {
    "NAME": { "type": "http", "url": "MCP" }
  }
}`, "MCP", req.mcpURL()),
		},
		{
			ID: "claude-code", Name: "Claude Code",
			Before: "Run in a shell:",
			Text:   fmt.Sprintf("claude mcp add --transport http %s %s", serverName, web.ShellQuote(req.mcpURL())),
			After:  "Then start Claude Code, enter /mcp, select " + serverName + " and sign in.",
		},
	}
}

// settings replaces NAME and the given placeholders in a settings template.
func settings(text string, pairs ...string) string {
	return strings.NewReplacer(append([]string{"NAME", serverName}, pairs...)...).Replace(text)
}
