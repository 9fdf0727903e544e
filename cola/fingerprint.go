package cola

import "strconv"

// fingerprint hashes settled parameters, except page, per_page and cursor. What does not change the result does not count:
// letter case, accents, the order of several values, white space around a value, and a volume unit without a volume.
//
// The value must be the same in every process and, while a filter keeps its meaning, in every version of the program, because
// clients keep cursors across deployments. So each parameter counts under its name, and only if it is given. early gives the
// value that versions computed which distinguished letter case.
func (p SearchParams) fingerprint(early bool) uint64 {
	h := fnvOffset
	for i := range filters {
		f := &filters[i]
		if f.Param == "" || f.Kind == UnitFilter && !p.VolumeMin.OK && !p.VolumeMax.OK {
			continue
		}
		v := valueAt(f.param(&p))
		if f.fold != nil && !(early && f.unfolded) {
			v.text = f.fold(v.text)
		}
		h = h.text(f.Param, v.text).list(f.Param, v.words).number(f.Param, v.number).text(f.Param, v.date.String())
	}
	return uint64(h)
}

// fnv is a running FNV-1a hash.
type fnv uint64

const (
	fnvOffset fnv = 14695981039346656037
	fnvPrime  fnv = 1099511628211
)

// text adds a parameter unless it is empty. Settled values hold no control characters, so a zero byte ends each part.
func (h fnv) text(name, value string) fnv {
	if value == "" {
		return h
	}
	return h.part(name).part(value)
}

// list adds each value of a parameter.
func (h fnv) list(name string, values []string) fnv {
	for _, v := range values {
		h = h.text(name, v)
	}
	return h
}

// number adds a number that is given.
func (h fnv) number(name string, v Opt[float64]) fnv {
	if !v.OK {
		return h
	}
	return h.text(name, strconv.FormatFloat(v.V, 'g', -1, 64))
}

func (h fnv) part(s string) fnv {
	for i := range len(s) {
		h = (h ^ fnv(s[i])) * fnvPrime
	}
	return h * fnvPrime // the zero byte
}
