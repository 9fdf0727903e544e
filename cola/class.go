package cola

import "strings"

// Class is one of TTB's class and type codes.
type Class struct {
	ID          string      // such as "101" or "80A"
	Name        string      // TTB's words
	ProductType ProductType // empty when the code does not tell
}

// Classes lists the known class and type codes in TTB's order. Labels may carry others.
func Classes() []Class {
	classes := make([]Class, len(classTable))
	for i, c := range classTable {
		kind, _ := ProductTypeOfClass(c.id)
		classes[i] = Class{ID: c.id, Name: c.name, ProductType: kind}
	}
	return classes
}

// ProductTypeOfClass tells the commodity from a class and type code, known or not: TTB gives each commodity ranges of
// numbers. Some codes have a letter after the number (80A). ok is false for what is not a code and for numbers that belong
// to no commodity, such as 990, mixes without alcohol.
func ProductTypeOfClass(classID string) (kind ProductType, ok bool) {
	n, ok := classNumber(classID)
	if !ok {
		return "", false
	}
	switch {
	case n >= 80 && n <= 89, n == 931, n == 981: // sake is taxed as beer and labelled as wine
		return Wine, true
	case n >= 900 && n <= 909, n >= 951 && n <= 957:
		return MaltBeverage, true
	case n >= 100 && n <= 799, n >= 920 && n <= 949, n >= 970 && n <= 983: // 97x and 98x are 92x and 93x, imported
		return DistilledSpirits, true
	}
	return "", false
}

// classNumber returns the number of a class and type code: one to three digits, and a letter or none.
func classNumber(id string) (n int, ok bool) {
	id = strings.TrimSpace(id)
	if len(id) > 1 {
		if c := id[len(id)-1] &^ 0x20; c >= 'A' && c <= 'Z' {
			id = id[:len(id)-1]
		}
	}
	if id == "" || len(id) > 3 {
		return 0, false
	}
	for i := range len(id) {
		if id[i] < '0' || id[i] > '9' {
			return 0, false
		}
		n = n*10 + int(id[i]-'0')
	}
	return n, true
}
