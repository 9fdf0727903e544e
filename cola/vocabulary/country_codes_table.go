package vocabulary

// countryCode gives the ISO 3166 codes of a country.
type countryCode struct {
	alpha2, alpha3 string
	name           string // a word for the country in the places table; here, georgia means the country
}

// countryCodes lists the countries and territories in the places table by ISO 3166 code. The codes
// of the United States, and other words for it and the United Kingdom, are in the countries table.
// Kosovo has no ISO 3166 code; its codes here are the customary ones.
var countryCodes = [...]countryCode{
	{"AD", "AND", "andorra"}, {"AE", "ARE", "united arab emirates"}, {"AF", "AFG", "afghanistan"},
	{"AG", "ATG", "antigua and barbuda"}, {"AI", "AIA", "anguilla"}, {"AL", "ALB", "albania"},
	{"AM", "ARM", "armenia"}, {"AO", "AGO", "angola"}, {"AR", "ARG", "argentina"}, {"AT", "AUT", "austria"},
	{"AU", "AUS", "australia"}, {"AW", "ABW", "aruba"}, {"AZ", "AZE", "azerbaijan"},
	{"BA", "BIH", "bosnia and herzegovina"}, {"BB", "BRB", "barbados"}, {"BD", "BGD", "bangladesh"},
	{"BE", "BEL", "belgium"}, {"BG", "BGR", "bulgaria"}, {"BJ", "BEN", "benin"}, {"BM", "BMU", "bermuda"},
	{"BO", "BOL", "bolivia"}, {"BR", "BRA", "brazil"}, {"BS", "BHS", "bahamas"}, {"BT", "BTN", "bhutan"},
	{"BW", "BWA", "botswana"}, {"BY", "BLR", "belarus"}, {"BZ", "BLZ", "belize"}, {"CA", "CAN", "canada"},
	{"CD", "COD", "democratic republic of the congo"}, {"CH", "CHE", "switzerland"}, {"CI", "CIV", "ivory coast"},
	{"CL", "CHL", "chile"}, {"CM", "CMR", "cameroon"}, {"CN", "CHN", "china"}, {"CO", "COL", "colombia"},
	{"CR", "CRI", "costa rica"}, {"CU", "CUB", "cuba"}, {"CV", "CPV", "cape verde"}, {"CW", "CUW", "curacao"},
	{"CY", "CYP", "cyprus"}, {"CZ", "CZE", "czech republic"}, {"DE", "DEU", "germany"}, {"DK", "DNK", "denmark"},
	{"DM", "DMA", "dominica"}, {"DO", "DOM", "dominican republic"}, {"DZ", "DZA", "algeria"},
	{"EC", "ECU", "ecuador"}, {"EE", "EST", "estonia"}, {"EG", "EGY", "egypt"}, {"ER", "ERI", "eritrea"},
	{"ES", "ESP", "spain"}, {"ET", "ETH", "ethiopia"}, {"FI", "FIN", "finland"}, {"FJ", "FJI", "fiji"},
	{"FO", "FRO", "faroe islands"}, {"FR", "FRA", "france"}, {"GA", "GAB", "gabon"},
	{"GB", "GBR", "united kingdom"}, {"GD", "GRD", "grenada"}, {"GE", "GEO", "georgia"}, {"GG", "GGY", "guernsey"},
	{"GH", "GHA", "ghana"}, {"GP", "GLP", "guadeloupe"}, {"GR", "GRC", "greece"}, {"GT", "GTM", "guatemala"},
	{"GU", "GUM", "guam"}, {"GY", "GUY", "guyana"}, {"HK", "HKG", "hong kong"}, {"HN", "HND", "honduras"},
	{"HR", "HRV", "croatia"}, {"HT", "HTI", "haiti"}, {"HU", "HUN", "hungary"}, {"ID", "IDN", "indonesia"},
	{"IE", "IRL", "ireland"}, {"IL", "ISR", "israel"}, {"IM", "IMN", "isle of man"}, {"IN", "IND", "india"},
	{"IQ", "IRQ", "iraq"}, {"IR", "IRN", "iran"}, {"IS", "ISL", "iceland"}, {"IT", "ITA", "italy"},
	{"JM", "JAM", "jamaica"}, {"JO", "JOR", "jordan"}, {"JP", "JPN", "japan"}, {"KE", "KEN", "kenya"},
	{"KG", "KGZ", "kyrgyzstan"}, {"KH", "KHM", "cambodia"}, {"KN", "KNA", "st kitts and nevis"},
	{"KP", "PRK", "north korea"}, {"KR", "KOR", "south korea"}, {"KW", "KWT", "kuwait"},
	{"KY", "CYM", "cayman islands"}, {"KZ", "KAZ", "kazakhstan"}, {"LA", "LAO", "laos"}, {"LB", "LBN", "lebanon"},
	{"LC", "LCA", "saint lucia"}, {"LI", "LIE", "liechtenstein"}, {"LK", "LKA", "sri lanka"},
	{"LR", "LBR", "liberia"}, {"LT", "LTU", "lithuania"}, {"LU", "LUX", "luxembourg"}, {"LV", "LVA", "latvia"},
	{"MA", "MAR", "morocco"}, {"MC", "MCO", "monaco"}, {"MD", "MDA", "moldova"}, {"ME", "MNE", "montenegro"},
	{"MF", "MAF", "saint martin"}, {"MG", "MDG", "madagascar"}, {"MK", "MKD", "north macedonia"},
	{"MM", "MMR", "myanmar"}, {"MN", "MNG", "mongolia"}, {"MO", "MAC", "macau"}, {"MQ", "MTQ", "martinique"},
	{"MT", "MLT", "malta"}, {"MU", "MUS", "mauritius"}, {"MW", "MWI", "malawi"}, {"MX", "MEX", "mexico"},
	{"MY", "MYS", "malaysia"}, {"MZ", "MOZ", "mozambique"}, {"NA", "NAM", "namibia"}, {"NG", "NGA", "nigeria"},
	{"NI", "NIC", "nicaragua"}, {"NL", "NLD", "netherlands"}, {"NO", "NOR", "norway"}, {"NP", "NPL", "nepal"},
	{"NZ", "NZL", "new zealand"}, {"PA", "PAN", "panama"}, {"PE", "PER", "peru"},
	{"PF", "PYF", "french polynesia"}, {"PH", "PHL", "philippines"}, {"PK", "PAK", "pakistan"},
	{"PL", "POL", "poland"}, {"PR", "PRI", "puerto rico"}, {"PS", "PSE", "west bank"}, {"PT", "PRT", "portugal"},
	{"PY", "PRY", "paraguay"}, {"RE", "REU", "reunion"}, {"RO", "ROU", "romania"}, {"RS", "SRB", "serbia"},
	{"RU", "RUS", "russia"}, {"RW", "RWA", "rwanda"}, {"SA", "SAU", "saudi arabia"}, {"SC", "SYC", "seychelles"},
	{"SE", "SWE", "sweden"}, {"SG", "SGP", "singapore"}, {"SI", "SVN", "slovenia"}, {"SK", "SVK", "slovakia"},
	{"SM", "SMR", "san marino"}, {"SN", "SEN", "senegal"}, {"SR", "SUR", "suriname"}, {"SV", "SLV", "el salvador"},
	{"SX", "SXM", "sint maarten"}, {"SY", "SYR", "syria"}, {"SZ", "SWZ", "eswatini"}, {"TG", "TGO", "togo"},
	{"TH", "THA", "thailand"}, {"TJ", "TJK", "tajikistan"}, {"TM", "TKM", "turkmenistan"},
	{"TN", "TUN", "tunisia"}, {"TR", "TUR", "turkey"}, {"TT", "TTO", "trinidad and tobago"},
	{"TW", "TWN", "taiwan"}, {"TZ", "TZA", "tanzania"}, {"UA", "UKR", "ukraine"}, {"UG", "UGA", "uganda"},
	{"UY", "URY", "uruguay"}, {"UZ", "UZB", "uzbekistan"}, {"VC", "VCT", "st vincent and the grenadines"},
	{"VE", "VEN", "venezuela"}, {"VI", "VIR", "us virgin islands"}, {"VN", "VNM", "vietnam"},
	{"VU", "VUT", "vanuatu"}, {"WS", "WSM", "samoa"}, {"XK", "XKX", "kosovo"}, {"ZA", "ZAF", "south africa"},
	{"ZM", "ZMB", "zambia"}, {"ZW", "ZWE", "zimbabwe"},
}
