package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"github.com/colaregistry/colaregistry/internal/strictjson"
	"github.com/colaregistry/colaregistry/registry"
)

// ToolSection is a group of tools, for the reference pages.
type ToolSection struct {
	Name, Anchor, Description string
	Tools                     []ToolDoc
}

// ToolDoc describes a tool.
type ToolDoc struct {
	Name, Title, Description, Cost string
	Path                           string // path of an endpoint that has the tool
	Example                        string // arguments of the example call, as JSON
	ReadOnly                       bool   // changes no data
	Arguments                      []ArgumentDoc
}

// ArgumentDoc describes an argument. Members of an object have dotted names.
type ArgumentDoc struct {
	Name     string
	Schema   *huma.Schema
	Required bool
}

// ToolSections returns the documentation of all tools, by subject.
func ToolSections() []ToolSection {
	sections := []ToolSection{
		newToolSection("Tools for labels", "labels", "Search, count and read labels, check brand names and look up barcodes from an assistant.",
			slices.Concat(colaTools(), countTools(), brandTools(), barcodeTools(), suggestTools())),
		newToolSection("Tools for permittees", "permittees", "Find permittees and their recent labels from an assistant.", permitteeTools()),
		newToolSection("Tools for saved searches", "saved-searches", "Manage saved searches and alerts from an assistant.", savedSearchTools()),
		newToolSection("Tools for your account", "account", "Read the account’s plan and usage from an assistant.", usageTools()),
		newToolSection("Tools for reference data", "reference-data", "Processing times, production reports and viticultural areas for an assistant.",
			slices.Concat(processingTimeTools(), productionReportTools(), avaTools())),
		newToolSection("Tools for ChatGPT", "chatgpt", "Tools that ChatGPT requires for deep research, with arguments and results that OpenAI defines.",
			chatGPTTools()),
	}
	for i := range sections[len(sections)-1].Tools {
		sections[len(sections)-1].Tools[i].Path = ChatGPTPath
	}
	return sections
}

func newToolSection(name, anchor, description string, tools []tool) ToolSection {
	s := ToolSection{Name: name, Anchor: anchor, Description: description}
	for _, t := range tools {
		s.Tools = append(s.Tools, ToolDoc{
			Name: t.name, Title: t.title, Description: t.description, Cost: t.cost, Path: Path, Example: t.example,
			ReadOnly:  t.effect == reads,
			Arguments: documentedArguments("", t.input),
		})
	}
	return s
}

func documentedArguments(prefix string, all []argument) (docs []ArgumentDoc) {
	for _, a := range all {
		docs = append(docs, ArgumentDoc{prefix + a.name, a.schema, a.required})
		docs = append(docs, documentedArguments(prefix+a.name+".", a.members)...)
	}
	return docs
}

// Answer calls a read-only tool and returns its result. arguments must be a JSON object without
// duplicate members. The call is free and not recorded; see registry.SampleCaller.
func Answer(ctx context.Context, svc Service, name, arguments string) (json.RawMessage, error) {
	all := toolsAt(ChatGPTPath)
	i := slices.IndexFunc(all, func(t tool) bool { return t.name == name && t.effect == reads })
	if i < 0 {
		return nil, fmt.Errorf("mcp: no read-only tool %s", name)
	}
	req := &request{message: message{arguments: strictjson.Members([]byte(arguments))}, caller: registry.SampleCaller()}
	result, _, err := all[i].run(ctx, svc, req)
	if err != nil {
		return nil, err
	}
	return result.json(), nil
}
