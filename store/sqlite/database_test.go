package sqlite

import "testing"

func TestRewrite(t *testing.T) {
	for from, want := range map[string]string{
		`SELECT 1 WHERE a = ? AND b = ?2`:                             `SELECT 1 WHERE a = ? AND b = ?2`,
		`SELECT id FROM t WHERE a = $2 AND $1::bigint IN (0, b)`:      `SELECT id FROM t WHERE a = ?2 AND ?1 IN (0, b)`,
		`SELECT id FROM t LIMIT $10 FOR UPDATE SKIP LOCKED`:           `SELECT id FROM t LIMIT ?10`,
		"SELECT id FROM t k\n\t\tFOR NO KEY UPDATE OF k":              "SELECT id FROM t k\n\t",
		`WITH h AS (SELECT id FROM t FOR KEY SHARE) SELECT id FROM h`: `WITH h AS (SELECT id FROM t) SELECT id FROM h`,
		`SET a = coalesce(a, $1, clock_timestamp())`:                  `SET a = coalesce(a, ?1, NULL)`,
		`SET a = b + make_interval(secs => $3)`:                       `SET a = b + CAST(round(?3 * 1e6) AS INTEGER)`,
		`WHERE a = ANY($1) OR b = ANY($2::bytea[])`: `WHERE a IN (SELECT value FROM json_each(?1)) ` +
			`OR b IN (SELECT unhex(value) FROM json_each(?2))`,
		`SELECT least(a, b), greatest(a, b), lower(c COLLATE "C")`: `SELECT min(a, b), max(a, b), lower(c)`,
		`FROM a INNER JOIN b ON a.id = b.id JOIN c ON c.id = b.id`: `FROM a CROSS JOIN b ON a.id = b.id JOIN c ON c.id = b.id`,
	} {
		if got := rewritten(from); got != want {
			t.Errorf("rewritten(%s) =\n%s\nwant\n%s", from, got, want)
		}
	}
}

func TestArguments(t *testing.T) {
	for want, list := range map[string]any{
		`[]`:            []string(nil),
		`["a","\""]`:    []string{"a", `"`},
		`["00ff","0a"]`: [][]byte{{0, 0xff}, {10}},
		`[1,-2]`:        []int64{1, -2},
	} {
		if got := arguments([]any{list})[0]; got != want {
			t.Errorf("arguments(%v) = %v, want %s", list, got, want)
		}
	}
}
