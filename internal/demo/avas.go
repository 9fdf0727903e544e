package demo

import (
	_ "embed"
	"encoding/json"
	"sync"

	"github.com/colaregistry/colaregistry/cola"
)

// avasJSON holds some fifty American Viticultural Areas as they really are: names, places, dates and sections of 27 CFR
// part 9. Parents and children are told where both are in the file. Three are boundaries that a later rule replaced.
//
//go:embed avas.json
var avasJSON []byte

var parseAVAs = sync.OnceValue(func() []cola.AVADetail {
	var areas []cola.AVADetail
	if err := json.Unmarshal(avasJSON, &areas); err != nil {
		panic("demo: avas.json: " + err.Error()) // embedded: a test reads it
	}
	return areas
})

// AVAs returns viticultural areas. They are facts, so they are the same for all options. The slices within them are shared:
// they are for reading.
func AVAs(Options) []cola.AVADetail { return append([]cola.AVADetail(nil), parseAVAs()...) }
