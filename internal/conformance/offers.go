package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
)

// resources reads every resource, and one instance of each template.
func (in *inspection) resources(ctx context.Context) error {
	var listed struct{ Resources []struct{ URI string } }
	var templates struct {
		ResourceTemplates []struct{ URITemplate string }
	}
	if _, err := in.result(ctx, &listed, "resources/list"); err != nil {
		return err
	}
	if _, err := in.result(ctx, &templates, "resources/templates/list"); err != nil {
		return err
	}
	var uris []string
	for _, r := range listed.Resources {
		uris = append(uris, r.URI)
	}
	for _, t := range templates.ResourceTemplates {
		uri, err := fillTemplate(t.URITemplate, in.known)
		if in.check(in.era+": template "+t.URITemplate, err) {
			uris = append(uris, uri)
		}
	}
	for _, uri := range uris {
		if err := in.read(ctx, uri); err != nil {
			return err
		}
	}
	in.expect(in.era+": lists resources and templates",
		len(listed.Resources) > 0 && len(templates.ResourceTemplates) > 0, "empty list")
	in.say("%s: resources read: %d, templates read: %d", in.era, len(listed.Resources), len(templates.ResourceTemplates))
	return nil
}

// read reads one JSON resource.
func (in *inspection) read(ctx context.Context, uri string) error {
	var got struct{ Contents []struct{ URI, Text string } }
	if answered, err := in.result(ctx, &got, "resources/read", "--uri", uri); err != nil || !answered {
		return err
	}
	in.expect(in.era+": content of "+uri,
		len(got.Contents) == 1 && got.Contents[0].URI == uri && json.Valid([]byte(got.Contents[0].Text)),
		"not exactly one JSON document with that URI")
	return nil
}

// fillTemplate expands a simple URI template with stored values.
func fillTemplate(template string, known map[string]string) (string, error) {
	uri := template
	for name, value := range known {
		uri = strings.ReplaceAll(uri, "{"+name+"}", value)
	}
	if strings.ContainsAny(uri, "{}") {
		return "", fmt.Errorf("no value for a variable in %s; store one from an example in examples.go", uri)
	}
	return uri, nil
}

// prompts gets every prompt with all of its arguments.
func (in *inspection) prompts(ctx context.Context) error {
	var listed struct {
		Prompts []struct {
			Name      string
			Arguments []struct{ Name string }
		}
	}
	if _, err := in.result(ctx, &listed, "prompts/list"); err != nil {
		return err
	}
	for _, p := range listed.Prompts {
		flags := []string{"--prompt-name", p.Name, "--prompt-args"}
		for _, a := range p.Arguments {
			value, ok := words[a.Name]
			in.expect(in.era+": argument "+a.Name+" of "+p.Name, ok, "no example; add one in examples.go")
			flags = append(flags, a.Name+"="+value)
		}
		var got struct {
			Messages []struct{ Content struct{ Text string } }
		}
		answered, err := in.result(ctx, &got, "prompts/get", flags...)
		if err != nil {
			return err
		}
		if answered {
			in.expect(in.era+": text of "+p.Name, len(got.Messages) > 0 && got.Messages[0].Content.Text != "", "empty")
		}
	}
	in.expect(in.era+": lists prompts", len(listed.Prompts) > 0, "empty list")
	in.say("%s: %d prompts read", in.era, len(listed.Prompts))
	return nil
}
