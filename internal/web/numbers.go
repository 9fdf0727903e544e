package web

import (
	"fmt"
	"strings"
)

// Thousands formats an integer with thousands separators.
func Thousands(n any) string {
	digits, sign := fmt.Sprint(n), ""
	if rest, ok := strings.CutPrefix(digits, "-"); ok {
		digits, sign = rest, "-"
	}
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return sign + digits
}
