package main

import (
	"fmt"
	"log/slog"
	"testing"
)

func TestTrustedProxies(t *testing.T) {
	for flag, want := range map[string]string{
		"10.0.0.0/8": "[10.0.0.0/8]", "10.1.2.3/8": "[10.0.0.0/8]",
		"192.0.2.1": "[192.0.2.1/32]", "::1": "[::1/128]", "2001:db8::/32": "[2001:db8::/32]",
		"": "", "proxy": "", "10.0.0.0/33": "", "0.0.0.0/0": "", "::/0": "", "10.0.0.0/8,": "", "http://10.0.0.1": "",
	} {
		f := networkFlags{TrustedProxies: []string{flag}, MaxConnections: 1}
		networks, err := f.proxies()
		if want == "" {
			if err == nil || f.check() == nil {
				t.Errorf("%q: networks %v, want an error", flag, networks)
			}
			continue
		}
		if got := fmt.Sprint([]any{networks[0]}...); err != nil || "["+got+"]" != want {
			t.Errorf("%q: %v, %v; want %s", flag, networks, err, want)
		}
	}
}

func TestMaxConnections(t *testing.T) {
	env := &environment{log: slog.New(slog.DiscardHandler)}
	if err := (&networkFlags{}).check(); err == nil {
		t.Error("--max-connections 0 is accepted")
	}
	f := networkFlags{MaxConnections: 10}
	if got := f.connections(env); got != 10 {
		t.Errorf("%d connections, want the flag's value, 10", got)
	}
	f.MaxConnections = 1 << 40
	if files, ok := fileLimit(); ok && files < 1<<40 && f.connections(env) != int(files)-reservedFiles {
		t.Errorf("%d connections with %d files", f.connections(env), files)
	}
}
