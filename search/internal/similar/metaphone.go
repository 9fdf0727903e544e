package similar

import "strings"

// doubleMetaphone returns the primary and alternate codes for the pronunciation of a folded word,
// after Lawrence Philips, "The Double Metaphone Search Algorithm", C/C++ Users Journal, June 2000.
// The letters of a code are consonant sounds; 0 is th, X is sh, and A is an initial vowel. Words
// with characters other than a to z have no code.
//
// Two changes adapt it to brand names: codes are not truncated to four letters, and an initial w is
// W rather than a vowel.
func doubleMetaphone(word string) (primary, alternate string) {
	for i := range len(word) {
		if word[i] < 'a' || word[i] > 'z' {
			return "", ""
		}
	}
	if word == "" {
		return "", ""
	}
	m := metaphone{
		word:    word,
		slavic:  strings.ContainsAny(word, "wk") || strings.Contains(word, "cz") || strings.Contains(word, "witz"),
		primary: make([]byte, 0, len(word)), alternate: make([]byte, 0, len(word)),
	}
	m.begin()
	for m.at < len(word) {
		m.at += m.letter()
	}
	return string(m.primary), string(m.alternate)
}

// metaphone is the state of the encoder for one word.
type metaphone struct {
	word               string
	at                 int  // position
	slavic             bool // whether the spelling looks Slavic or German
	primary, alternate []byte
}

// add appends sounds to both codes and returns n.
func (m *metaphone) add(sounds string, n int) int { return m.either(sounds, sounds, n) }

// either appends sounds to the two codes and returns n, the number of letters that they stand for.
func (m *metaphone) either(primary, alternate string, n int) int {
	m.primary, m.alternate = append(m.primary, primary...), append(m.alternate, alternate...)
	return n
}

// char returns the letter at an offset from the position, or 0 outside the word.
func (m *metaphone) char(offset int) byte {
	if i := m.at + offset; i >= 0 && i < len(m.word) {
		return m.word[i]
	}
	return 0
}

// in reports whether the letter at an offset is one of the given letters.
func (m *metaphone) in(offset int, letters string) bool {
	c := m.char(offset)
	return c != 0 && strings.IndexByte(letters, c) >= 0
}

// has reports whether one of the parts is at an offset.
func (m *metaphone) has(offset int, parts ...string) bool {
	i := m.at + offset
	if i < 0 || i > len(m.word) {
		return false
	}
	for _, part := range parts {
		if strings.HasPrefix(m.word[i:], part) {
			return true
		}
	}
	return false
}

// vowel reports whether there is a vowel at an offset.
func (m *metaphone) vowel(offset int) bool { return m.in(offset, vowels) }

const vowels = "aeiouy"

// ends reports whether the word ends n letters after the position.
func (m *metaphone) ends(n int) bool { return m.at+n >= len(m.word) }

// begins reports whether the word begins with one of the prefixes.
func (m *metaphone) begins(prefixes ...string) bool {
	for _, p := range prefixes {
		if strings.HasPrefix(m.word, p) {
			return true
		}
	}
	return false
}

// germanic reports whether the word begins like a Dutch or German name.
func (m *metaphone) germanic() bool { return m.begins("van", "von", "sch") }

// single returns how many letters a sound takes: 2 if the next letter is in with, else 1.
func (m *metaphone) single(with string) int {
	if m.in(1, with) {
		return 2
	}
	return 1
}

// begin encodes the special cases at the beginning of a word.
func (m *metaphone) begin() {
	switch {
	case m.begins("gn", "kn", "pn", "wr", "ps"): // silent
		m.at = 1
	case m.begins("x"): // as in Xavier
		m.at = m.add("S", 1)
	case m.vowel(0):
		m.at = m.add("A", 1)
	}
}

// letter encodes the sound at the position and returns the number of letters that it takes.
func (m *metaphone) letter() int {
	switch m.char(0) {
	case 'b':
		return m.add("P", m.single("b"))
	case 'c':
		return m.c()
	case 'd':
		return m.d()
	case 'f':
		return m.add("F", m.single("f"))
	case 'g':
		return m.g()
	case 'h':
		if (m.at == 0 || m.vowel(-1)) && m.vowel(1) {
			return m.add("H", 2)
		}
	case 'j':
		return m.j()
	case 'k':
		return m.add("K", m.single("k"))
	case 'l':
		return m.l()
	case 'm':
		if m.has(-1, "umb") && (m.ends(2) || m.has(2, "er")) { // dumb, plumber
			return m.add("M", 2)
		}
		return m.add("M", m.single("m"))
	case 'n':
		return m.add("N", m.single("n"))
	case 'p':
		if m.char(1) == 'h' {
			return m.add("F", 2)
		}
		return m.add("P", m.single("pb")) // Campbell, raspberry
	case 'q':
		return m.add("K", m.single("q"))
	case 'r':
		return m.r()
	case 's':
		return m.s()
	case 't':
		return m.t()
	case 'v':
		return m.add("F", m.single("v"))
	case 'w':
		return m.w()
	case 'x':
		if m.ends(1) && (m.has(-3, "iau", "eau") || m.has(-2, "au", "ou")) { // Bordeaux
			return 1
		}
		return m.add("KS", m.single("cx"))
	case 'z':
		return m.z()
	}
	return 1 // vowels
}

func (m *metaphone) c() int {
	switch {
	case m.at > 1 && !m.vowel(-2) && m.has(-1, "ach") && m.char(2) != 'i' &&
		(m.char(2) != 'e' || m.has(-2, "bacher", "macher")): // Bach
		return m.add("K", 2)
	case m.at == 0 && m.has(0, "caesar"):
		return m.add("S", 2)
	case m.has(0, "chia"): // Chianti
		return m.add("K", 2)
	case m.char(1) == 'h':
		return m.ch()
	case m.char(1) == 'z' && !m.has(-2, "wicz"): // Czerny
		return m.either("S", "X", 2)
	case m.has(1, "cia"): // focaccia
		return m.add("X", 3)
	case m.char(1) == 'c' && !(m.at == 1 && m.word[0] == 'm'): // but not McClellan
		if !m.in(2, "ieh") || m.has(2, "hu") {
			return m.add("K", 2)
		}
		if m.at == 1 && m.word[0] == 'a' || m.has(-1, "uccee", "ucces") { // accident, success
			return m.add("KS", 3)
		}
		return m.add("X", 3) // bertucci
	case m.in(1, "kgq"):
		return m.add("K", 2)
	case m.has(0, "cio", "cie", "cia"): // Italian
		return m.either("S", "X", 2)
	case m.in(1, "iey"):
		return m.add("S", 2)
	case m.char(1) == 'c' && !m.has(1, "ce", "ci"):
		return m.add("K", 2)
	}
	return m.add("K", 1)
}

func (m *metaphone) ch() int {
	greek := m.at == 0 && m.has(1, "harac", "haris", "hor", "hym", "hia", "hem") && !m.has(0, "chore")
	hard := m.germanic() || m.has(-2, "orches", "archit", "orchid") || m.in(2, "ts") ||
		(m.at == 0 || m.in(-1, "aoue")) && (m.ends(2) || m.in(2, "lrnmbhfvw"))
	switch {
	case m.at > 0 && m.has(0, "chae"): // Michael
		return m.either("K", "X", 2)
	case greek || hard:
		return m.add("K", 2)
	case m.at == 0:
		return m.add("X", 2)
	case m.begins("mc"):
		return m.add("K", 2)
	}
	return m.either("X", "K", 2)
}

func (m *metaphone) d() int {
	switch {
	case m.char(1) == 'g' && m.in(2, "iey"): // edge
		return m.add("J", 3)
	case m.char(1) == 'g':
		return m.add("TK", 2)
	}
	return m.add("T", m.single("td"))
}

func (m *metaphone) g() int {
	switch {
	case m.char(1) == 'h':
		return m.gh()
	case m.char(1) == 'n':
		switch {
		case m.at == 1 && m.vowel(-1) && !m.slavic:
			return m.either("KN", "N", 2)
		case !m.has(2, "ey") && !m.slavic: // champignon, but not Cagney
			return m.either("N", "KN", 2)
		}
		return m.add("KN", 2)
	case m.has(1, "li") && !m.slavic: // tagliaro
		return m.either("KL", "L", 2)
	case m.at == 0 && (m.char(1) == 'y' || m.has(1, "es", "ep", "eb", "el", "ey", "ib", "il", "in", "ie", "ei", "er")):
		return m.either("K", "J", 2)
	case (m.has(1, "er") || m.char(1) == 'y') && !m.begins("danger", "ranger", "manger") && !m.in(-1, "ei") &&
		!m.has(-1, "rgy", "ogy"):
		return m.either("K", "J", 2)
	case m.in(1, "eiy") || m.has(-1, "aggi", "oggi"):
		switch {
		case m.germanic() || m.has(1, "et"):
			return m.add("K", 2)
		case m.has(1, "ier") && m.ends(4): // Rogier
			return m.add("J", 2)
		}
		return m.either("J", "K", 2)
	}
	return m.add("K", m.single("g"))
}

func (m *metaphone) gh() int {
	switch {
	case m.at > 0 && !m.vowel(-1):
		return m.add("K", 2)
	case m.at == 0 && m.char(2) == 'i': // Ghislaine
		return m.add("J", 2)
	case m.at == 0:
		return m.add("K", 2)
	case m.in(-2, "bhd") || m.in(-3, "bhd") || m.in(-4, "bh"): // bough, hugh
		return 2
	case m.char(-1) == 'u' && m.in(-3, "cglrt"): // cough, laugh, rough
		return m.add("F", 2)
	case m.char(-1) != 'i':
		return m.add("K", 2)
	}
	return 2 // light
}

func (m *metaphone) j() int {
	n := m.single("j")
	switch {
	case m.has(0, "jose"):
		if m.at == 0 && m.ends(4) {
			return m.add("H", 1)
		}
		return m.either("J", "H", 1)
	case m.at == 0:
		return m.either("J", "A", n)
	case m.vowel(-1) && !m.slavic && m.in(1, "ao"): // Spanish: bajador
		return m.either("J", "H", n)
	case m.ends(1):
		return m.either("J", "", n)
	case !m.in(1, "ltksnmbz") && !m.in(-1, "skl"):
		return m.add("J", n)
	}
	return n
}

func (m *metaphone) l() int {
	if m.char(1) != 'l' {
		return m.add("L", 1)
	}
	last := m.word[len(m.word)-1]
	plural := strings.HasSuffix(m.word, "as") || strings.HasSuffix(m.word, "os")
	spanish := m.at == len(m.word)-3 && m.has(-1, "illo", "illa", "alle") ||
		(plural || last == 'a' || last == 'o') && m.has(-1, "alle")
	if spanish { // Cabrillo, Gallegos
		return m.either("L", "", 2)
	}
	return m.add("L", 2)
}

func (m *metaphone) r() int {
	n := m.single("r")
	if m.ends(1) && !m.slavic && m.has(-2, "ie") && !m.has(-4, "me", "ma") { // French: Rogier
		return m.either("", "R", n)
	}
	return m.add("R", n)
}

func (m *metaphone) s() int {
	n := m.single("sz")
	switch {
	case m.has(-1, "isl", "ysl"): // island, Carlysle
		return 1
	case m.at == 0 && m.has(0, "sugar"):
		return m.either("X", "S", 1)
	case m.char(1) == 'h':
		if m.has(1, "heim", "hoek", "holm", "holz") {
			return m.add("S", 2)
		}
		return m.add("X", 2)
	case m.has(0, "sio", "sia"):
		if m.slavic {
			return m.add("S", 3)
		}
		return m.either("S", "X", 3)
	case m.at == 0 && m.in(1, "mnlw") || m.char(1) == 'z': // Smith, like German Schmidt
		return m.either("S", "X", n)
	case m.char(1) == 'c':
		return m.sc()
	case m.ends(1) && m.has(-2, "ai", "oi"): // French: Artois
		return m.either("", "S", n)
	}
	return m.add("S", n)
}

func (m *metaphone) sc() int {
	switch {
	case m.char(2) == 'h' && m.has(3, "er", "en"): // Schermerhorn
		return m.either("X", "SK", 3)
	case m.char(2) == 'h' && m.has(3, "oo", "uy", "ed", "em"): // Dutch: school
		return m.add("SK", 3)
	case m.char(2) == 'h' && m.at == 0 && !m.vowel(3) && m.char(3) != 'w': // Schmidt
		return m.either("X", "S", 3)
	case m.char(2) == 'h':
		return m.add("X", 3)
	case m.in(2, "iey"):
		return m.add("S", 3)
	}
	return m.add("SK", 2)
}

func (m *metaphone) t() int {
	switch {
	case m.has(0, "tion"), m.has(0, "tia"), m.has(0, "tch"):
		return m.add("X", 3)
	case m.char(1) == 'h' || m.has(1, "th"):
		if m.has(2, "om", "am") || m.germanic() { // Thomas, Thames
			return m.add("T", 2)
		}
		return m.either("0", "T", 2)
	}
	return m.add("T", m.single("td"))
}

func (m *metaphone) w() int {
	switch {
	case m.char(1) == 'r': // within a word: Boatwright
		return m.add("R", 2)
	case m.at == 0 && m.vowel(1): // German: Wagner
		return m.either("W", "F", 1)
	case m.at == 0 && m.char(1) == 'h':
		return m.add("W", 2)
	case m.ends(1) && m.vowel(-1), m.has(-1, "ewski", "ewsky", "owski", "owsky"), m.begins("sch"):
		return m.either("", "F", 1)
	case m.has(0, "wicz", "witz"): // Filipowicz
		return m.either("TS", "FX", 4)
	}
	return 1
}

func (m *metaphone) z() int {
	n := m.single("z")
	switch {
	case m.char(1) == 'h': // Zhao
		return m.add("J", 2)
	case m.has(1, "zo", "zi", "za"), m.slavic && m.at > 0 && m.char(-1) != 't':
		return m.either("S", "TS", n)
	}
	return m.add("S", n)
}
