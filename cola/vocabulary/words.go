package vocabulary

import "strings"

// WordKey returns the key of a folded word. Words that people use interchangeably have the same
// key: singular and plural; possessives (folding removes their apostrophes); numbers up to twenty and
// multiples of ten up to ninety, as words or digits; and a few alternative spellings. A key is for
// comparison only; it need not be a word.
//
//	rivers, river → river    houses, house → hous    geese, goose → goos    four, 4 → 4
//
// The rules are for English. They rarely merge different words in other languages, because they
// change only the endings -s, -e and -x. Index snapshots contain keys: if the rules change,
// snapshotMagic in package search must also change.
func WordKey(word string) string {
	if singular, ok := irregularPlurals[word]; ok {
		word = singular
	}
	key := singular(word)
	if same, ok := spellings[key]; ok {
		return same
	}
	return key
}

func singular(word string) string {
	switch {
	case len(word) >= 5 && strings.HasSuffix(word, "ies"):
		return word[:len(word)-3] + "y"
	case len(word) >= 4 && strings.HasSuffix(word, "ie"): // cookie, because of cookies
		return word[:len(word)-2] + "y"
	case len(word) >= 5 && (strings.HasSuffix(word, "eaux") || strings.HasSuffix(word, "eaus")): // châteaux
		return word[:len(word)-1]
	}
	return singularE(withoutS(word))
}

// withoutS removes the s of a plural. Words that end in -ss or -us are singular.
func withoutS(word string) string {
	n := len(word)
	if n < 4 || word[n-1] != 's' {
		return word
	}
	if before := word[n-2]; before == 's' || before == 'u' || before < 'a' {
		return word
	}
	return word[:n-1]
}

// singularE removes the e that some plurals add before the s (boxes, churches, heroes). It also
// removes an e that is part of the singular (houses), because the plural doesn't show the
// difference.
func singularE(word string) string {
	base, ok := strings.CutSuffix(word, "e")
	if !ok || len(base) < 3 {
		return word
	}
	switch base[len(base)-1] {
	case 's', 'x', 'z':
		return base
	case 'o':
		if len(base) >= 4 { // not toe, shoe
			return base
		}
	case 'h':
		if b := base[len(base)-2]; b == 'c' || b == 's' {
			return base
		}
	}
	return word
}

var spellings = map[string]string{
	"saint": "st", "mount": "mt", "whiskey": "whisky",
	"one": "1", "two": "2", "three": "3", "four": "4", "five": "5", "six": "6",
	"seven": "7", "eight": "8", "nine": "9", "ten": "10", "eleven": "11", "twelve": "12", "thirteen": "13",
	"fourteen": "14", "fifteen": "15", "sixteen": "16", "seventeen": "17", "eighteen": "18", "nineteen": "19",
	"twenty": "20", "thirty": "30", "forty": "40", "fifty": "50", "sixty": "60", "seventy": "70", "eighty": "80",
	"ninety": "90",
}

var irregularPlurals = map[string]string{
	"calves": "calf", "children": "child", "elves": "elf", "feet": "foot", "geese": "goose", "halves": "half",
	"hooves": "hoof", "knives": "knife", "leaves": "leaf", "lice": "louse", "lives": "life", "loaves": "loaf",
	"men": "man", "mice": "mouse", "oxen": "ox", "scarves": "scarf", "selves": "self", "sheaves": "sheaf",
	"shelves": "shelf", "teeth": "tooth", "thieves": "thief", "wives": "wife", "wolves": "wolf", "women": "woman",
}

// IsConnector reports whether a folded word means "and", as & and + do. Searches treat all
// connectors the same.
func IsConnector(word string) bool {
	switch word {
	case "and", "et", "und", "y":
		return true
	}
	return false
}
