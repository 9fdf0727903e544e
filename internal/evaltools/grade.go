package main

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/colaregistry/colaregistry/cola"
)

// missing returns the facts that a model's answer to the request lacks.
func (r *request) missing(answer string) (missing []string) {
	for _, f := range r.facts {
		if len(f.said) > 0 && !slices.ContainsFunc(f.said, func(text string) bool { return says(answer, text) }) {
			missing = append(missing, strings.Join(f.said, " or "))
		}
	}
	return missing
}

// says reports whether an answer contains text. A number matches with or without thousands
// separators, a date in several common formats, and words regardless of case and punctuation.
func says(answer, text string) bool {
	if number, err := strconv.ParseFloat(text, 64); err == nil {
		return saysNumber(answer, text, number)
	}
	if day, err := cola.ParseDate(text); err == nil {
		return saysDate(answer, day)
	}
	return strings.Contains(" "+fold(answer)+" ", " "+fold(text)+" ")
}

var numbers = regexp.MustCompile(`\d+(?:,\d{3})*(?:\.\d+)?`)

// saysNumber reports whether an answer contains a number. Numbers with leading zeros, such as some
// IDs, must match digit for digit.
func saysNumber(answer, digits string, number float64) bool {
	return slices.ContainsFunc(numbers.FindAllString(answer, -1), func(found string) bool {
		found = strings.ReplaceAll(found, ",", "")
		got, err := strconv.ParseFloat(found, 64)
		padded := strings.HasPrefix(digits, "0") || strings.HasPrefix(found, "0")
		return found == digits || err == nil && got == number && !padded
	})
}

// saysDate reports whether an answer contains a date.
func saysDate(answer string, day cola.Date) bool {
	for _, layout := range []string{
		"2006-01-02", "January 2, 2006", "Jan 2, 2006", "2 January 2006", "2 Jan 2006", "01/02/2006", "1/2/2006",
	} {
		text := day.Time().Format(layout)
		if strings.Contains(" "+fold(answer)+" ", " "+fold(text)+" ") {
			return true
		}
	}
	return false
}
