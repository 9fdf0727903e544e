package demo

import "github.com/colaregistry/colaregistry/cola"

// state is a US state as the home of permittees: its TTB origin code, how its ZIP codes begin, and how many wineries and
// importers, breweries, and distilleries it has relative to others.
type state struct {
	code, origin        string
	zip                 []string
	wine, beer, spirits float64
}

var states = []state{
	{"CA", "01", []string{"945", "954", "934", "900", "956"}, 520, 130, 100},
	{"WA", "07", []string{"980", "993", "993"}, 95, 60, 40},
	{"OR", "38", []string{"970", "971", "972"}, 90, 55, 40},
	{"NY", "02", []string{"100", "112", "144", "119"}, 110, 75, 90},
	{"NJ", "03", []string{"070", "079", "080"}, 40, 22, 30},
	{"VA", "05", []string{"229", "201", "240"}, 34, 44, 34},
	{"TX", "44", []string{"786", "750", "770"}, 40, 60, 60},
	{"FL", "16", []string{"331", "336", "328"}, 22, 50, 40},
	{"IL", "04", []string{"606", "600", "627"}, 24, 50, 34},
	{"PA", "39", []string{"191", "176", "152"}, 28, 60, 34},
	{"MI", "06", []string{"496", "495", "481"}, 22, 60, 30},
	{"OH", "09", []string{"440", "432", "452"}, 22, 50, 24},
	{"CO", "13", []string{"802", "805", "815"}, 12, 70, 36},
	{"NC", "35", []string{"288", "270", "276"}, 14, 60, 30},
	{"MO", "29", []string{"631", "650", "641"}, 16, 24, 18},
	{"WI", "48", []string{"532", "537", "543"}, 9, 50, 18},
	{"MN", "27", []string{"554", "551", "558"}, 9, 44, 20},
	{"MA", "26", []string{"021", "010", "026"}, 16, 40, 18},
	{"CT", "14", []string{"064", "061", "068"}, 16, 22, 12},
	{"MD", "25", []string{"212", "217", "209"}, 12, 22, 18},
	{"KY", "22", []string{"400", "405", "402"}, 6, 14, 110},
	{"TN", "43", []string{"372", "380", "379"}, 6, 18, 44},
	{"IN", "19", []string{"462", "474", "465"}, 10, 34, 30},
	{"GA", "08", []string{"303", "305", "314"}, 9, 28, 16},
	{"AZ", "11", []string{"850", "863", "857"}, 10, 20, 14},
	{"ID", "18", []string{"837", "836", "838"}, 9, 12, 8},
	{"NM", "34", []string{"871", "880", "875"}, 7, 12, 8},
	{"IA", "20", []string{"503", "522", "514"}, 7, 18, 8},
	{"NE", "31", []string{"681", "685", "691"}, 4, 10, 5},
	{"KS", "21", []string{"660", "672", "662"}, 3, 9, 5},
	{"OK", "37", []string{"731", "741", "740"}, 4, 9, 5},
	{"AR", "12", []string{"722", "727", "728"}, 3, 7, 4},
	{"LA", "23", []string{"701", "708", "704"}, 2, 9, 8},
	{"AL", "10", []string{"352", "358", "365"}, 2, 8, 5},
	{"MS", "28", []string{"392", "386", "395"}, 1, 3, 2},
	{"SC", "41", []string{"294", "296", "290"}, 3, 14, 12},
	{"WV", "47", []string{"253", "265", "249"}, 2, 5, 4},
	{"VT", "46", []string{"054", "056", "050"}, 4, 20, 9},
	{"NH", "33", []string{"030", "032", "038"}, 3, 14, 5},
	{"ME", "24", []string{"041", "048", "046"}, 5, 26, 8},
	{"RI", "40", []string{"029", "028", "028"}, 2, 6, 3},
	{"DE", "15", []string{"198", "199", "199"}, 1, 8, 3},
	{"DC", "4K", []string{"200", "200", "200"}, 3, 4, 3},
	{"MT", "30", []string{"598", "597", "591"}, 2, 16, 8},
	{"WY", "49", []string{"820", "830", "826"}, 1, 5, 3},
	{"ND", "36", []string{"581", "585", "587"}, 1, 3, 1},
	{"SD", "42", []string{"577", "571", "575"}, 2, 4, 2},
	{"UT", "45", []string{"841", "840", "847"}, 1, 8, 8},
	{"NV", "32", []string{"891", "895", "894"}, 2, 8, 8},
	{"HI", "17", []string{"968", "967", "967"}, 2, 6, 5},
	{"AK", "4E", []string{"995", "996", "998"}, 1, 6, 3},
	{"PR", "4A", []string{"009", "007", "006"}, 2, 2, 6},
}

// originAmerican is TTB's origin of products blended from several states.
const originAmerican = "00"

// country is a foreign origin: its TTB code, its language, the GS1 prefixes of its barcodes, and how many imported wines,
// beers and spirits come from it relative to others.
type country struct {
	origin              string
	tongue              *tongue
	gs1                 []string
	wine, beer, spirits float64
}

var countries = []country{
	{"51", &french, []string{"300", "326", "350", "376"}, 300, 10, 70},
	{"50", &italian, []string{"800", "803", "805", "809"}, 330, 14, 40},
	{"52", &spanish, []string{"841", "843", "847"}, 150, 9, 16},
	{"53", &german, []string{"400", "412", "426"}, 40, 90, 10},
	{"54", &portuguese, []string{"560"}, 60, 2, 2},
	{"64", &german, []string{"900", "912"}, 22, 6, 3},
	{"62", &spanish, []string{"779"}, 70, 2, 1},
	{"70", &spanish, []string{"780"}, 62, 2, 5},
	{"63", &english, []string{"930", "932"}, 60, 6, 5},
	{"84", &english, []string{"940", "942"}, 40, 4, 3},
	{"91", &english, []string{"600", "601"}, 26, 1, 2},
	{"59", &japanese, []string{"490", "456"}, 60, 10, 40},
	{"5D", &japanese, []string{"880"}, 8, 3, 12},
	{"57", &eastern, []string{"520"}, 16, 2, 5},
	{"56", &eastern, []string{"729"}, 16, 1, 1},
	{"75", &eastern, []string{"599"}, 9, 1, 2},
	{"6E", &eastern, []string{"486"}, 10, 1, 1},
	{"6X", &eastern, []string{"383"}, 6, 1, 1},
	{"6Y", &eastern, []string{"385"}, 6, 1, 1},
	{"6J", &eastern, []string{"484"}, 5, 0.5, 1},
	{"99", &eastern, []string{"590"}, 1, 9, 24},
	{"5Y", &eastern, []string{"859"}, 2, 16, 4},
	{"81", &spanish, []string{"750"}, 8, 34, 190},
	{"5K", &gaelic, []string{"501", "502"}, 0.5, 8, 150},
	{"5E", &gaelic, []string{"539"}, 0.5, 9, 34},
	{"6P", &english, []string{"503", "505"}, 3, 24, 20},
	{"65", &french, []string{"540", "541"}, 1, 90, 4},
	{"83", &german, []string{"871", "872"}, 0.5, 22, 14},
	{"69", &english, []string{"062", "065"}, 10, 18, 34},
	{"5J", &english, []string{"766"}, 0.2, 5, 14},
	{"4D", &spanish, []string{"746"}, 0.2, 2, 14},
	{"5M", &spanish, []string{"740"}, 0.2, 1, 7},
	{"4H", &english, []string{"609"}, 0.2, 1, 9},
	{"5B", &german, []string{"731", "735"}, 0.2, 4, 12},
	{"8A", &japanese, []string{"471"}, 0.3, 2, 5},
	{"85", &spanish, []string{"775"}, 1, 2, 9},
	{"67", &portuguese, []string{"789"}, 2, 4, 12},
}

// originNames returns the names of TTB's origin codes.
func originNames() map[string]cola.Text {
	names := map[string]cola.Text{}
	for _, o := range cola.Origins() {
		names[o.ID] = cola.Text(o.Name)
	}
	return names
}

// classNames returns the names of TTB's class and type codes.
func classNames() map[string]cola.Text {
	names := map[string]cola.Text{}
	for _, c := range cola.Classes() {
		names[c.ID] = cola.Text(c.Name)
	}
	return names
}
