package main

import (
	"bytes"
	"crypto/sha256"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/keyring"
	"github.com/colaregistry/colaregistry/store"
	"github.com/colaregistry/colaregistry/store/sqlite"
)

// TestCopyChecksum checks that the checksum of a copy covers every kind of record, by changing one
// field of each.
func TestCopyChecksum(t *testing.T) {
	fields := reflect.TypeFor[store.Item]()
	kinds := map[string]store.ItemKind{
		"Cola": store.ItemCola, "Permittee": store.ItemPermittee, "References": store.ItemReferences,
	}
	for i := range fields.NumField() {
		name := fields.Field(i).Name
		if name == "Kind" {
			continue
		}
		kind, known := kinds[name]
		if !known {
			kind = store.ItemAccount // this kind does not imply which field is set
		}
		fresh := func() *store.Item {
			return &store.Item{Kind: kind, Cola: &cola.Cola{}, References: &store.ReferenceSets{}}
		}
		changed := fresh()
		if !change(reflect.ValueOf(changed).Elem().Field(i)) {
			t.Fatalf("%s has no field to change", name)
		}
		if bytes.Equal(sumOf(t, fresh()), sumOf(t, changed)) {
			t.Errorf("checksum ignores the changed field of %s", name)
		}
	}
}

// TestCopyPlaintextSecrets checks that a database with plaintext secrets can't be copied until they
// are encrypted, and that links in emails already sent work with the copy.
func TestCopyPlaintextSecrets(t *testing.T) {
	for name, open := range map[string]func(*testing.T) testRegistry{"sqlite": embedded, "postgres": onPostgres} {
		t.Run(name, func(t *testing.T) {
			const token = "3f6c1f1f0a9b4c52a52e84b60a1f4c2d07be8365"
			h := open(t)
			source, created := h.DatabaseURL, "to_timestamp(1763640000)"
			if source == "" {
				source, created = "sqlite:"+filepath.Join(h.DataDir, "registry.db"), "1763640000000000"
			}
			h.upTo(t, 14)
			db := h.sql(t)
			defer db.Close()
			for _, statement := range []string{
				`INSERT INTO accounts (email, email_folded, tier, created_at) VALUES ('ann@example.com', 'ann@example.com', 'pro', ` + created + `)`,
				`INSERT INTO destinations (uuid, account_id, kind, address, address_folded, state, token, created_at)
					VALUES ('mailbox', 1, 'email', 'x@example.com', 'x@example.com', 'active', '` + token + `', ` + created + `)`,
			} {
				if _, err := db.Exec(statement); err != nil {
					t.Fatal(err)
				}
			}
			h.run(t, "migrate")
			target := filepath.Join(t.TempDir(), "copy.db")
			args := []string{"copy", "--from", source, "--to", "sqlite:" + target}
			var out, errs bytes.Buffer
			code := program{args: args, stdin: strings.NewReader(""), stdout: &out, stderr: &errs}.run(t.Context())
			if _, err := os.Stat(target); code != exitFailed ||
				!strings.Contains(errs.String(), "colaregistry secret reseal") || err == nil {
				t.Errorf("with plaintext secrets: exit code %d, want %d and no target: %s", code, exitFailed, errs.String())
			}
			reseal := []string{"secret", "reseal"}
			if h.keyFile != "" {
				if err := keyring.Create(h.keyFile); err != nil {
					t.Fatal(err)
				}
				reseal = append(reseal, "--secret-key-file", h.keyFile)
			}
			h.run(t, reseal...)
			if code := (program{args: args, stdin: strings.NewReader(""), stdout: &out, stderr: &errs}).run(t.Context()); code != 0 {
				t.Fatalf("with encrypted secrets: exit code %d, want 0: %s", code, errs.String())
			}
			st, err := sqlite.Open(t.Context(), target, sqlite.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer st.Close()
			hash := sha256.Sum256([]byte(token))
			if d, err := st.DestinationByLink(t.Context(), hash[:]); err != nil || d.UUID != "mailbox" {
				t.Errorf("DestinationByLink = %+v, %v; want mailbox", d, err)
			}
		})
	}
}

// TestCopyTarget checks the errors for a target that exists and for one that can't be checked.
func TestCopyTarget(t *testing.T) {
	existing := filepath.Join(t.TempDir(), "existing")
	if err := os.WriteFile(existing, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for path, exists := range map[string]bool{existing: true, "zero\x00byte": false} {
		_, err := (&copyCommand{}).fill(&environment{Context: t.Context()}, nil, place{path: path})
		if err == nil || strings.Contains(err.Error(), "already exists") != exists {
			t.Errorf("%q: error = %v, want one with \"already exists\": %t", path, err, exists)
		}
	}
}

func sumOf(t *testing.T, i *store.Item) []byte {
	t.Helper()
	d := newDigests()
	if err := d.add(i); err != nil {
		t.Fatal(err)
	}
	return d.byKind[i.Kind].sum.Sum(nil)
}

// change modifies the first string, number or list field of a record and reports whether it found
// one. It skips the revision of reference data, which is not part of the checksum.
func change(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Pointer:
		return !v.IsNil() && change(v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			if name := v.Type().Field(i).Name; v.Field(i).CanSet() && name != "Revision" && change(v.Field(i)) {
				return true
			}
		}
		return false
	case reflect.String:
		v.SetString("changed")
	case reflect.Int, reflect.Int32, reflect.Int64:
		v.SetInt(7)
	case reflect.Uint64:
		v.SetUint(7)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
	default:
		return false
	}
	return true
}
