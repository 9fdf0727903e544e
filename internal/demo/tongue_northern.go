package demo

var german = tongue{
	surnames: []string{
		"ACKERMANN", "BAUMGARTNER", "BÖHM", "BRANDSTÄTTER", "DIETRICH", "EBERHARDT", "FALKENBERG", "GRÜNWALD", "HÄUSLER", "HOFSTETTER",
		"JÄGER", "KÖNIGSBERG", "KRÄMER", "LINDENMAYER", "MÜLLER", "NIEDERMAYR", "OBERHUBER", "PFEIFFER", "RÖSSLER", "SCHÖNFELD",
		"STEINMETZ", "TANNER", "UNTERBERGER", "VOGELSANG", "WEISSENBACH", "WÖLFL", "ZIMMERLING",
	},
	given: []string{"ANNELIESE", "ANTON", "DIETER", "ELSBETH", "EMIL", "FRANZ", "GRETA", "HEINRICH", "JOHANN", "JOSEF", "KATHARINA", "LEOPOLD", "MATHIAS", "OTTO", "RUPERT"},
	coin: [3][]string{
		{"ALTEN", "BERN", "BIRKEN", "BLAU", "EICH", "FALKEN", "FELD", "GRÜN", "HOHEN", "KALTEN", "KÖNIGS", "LAU", "LINDEN", "MÜHL", "NEU",
			"RABEN", "ROSEN", "SCHÖN", "SONNEN", "STEIN", "TANNEN", "WALD", "WEISSEN", "WOLFS"},
		{"", "", "", "ER", "EN"},
		{"AU", "BACH", "BERG", "BRUNN", "BURG", "DORF", "FELS", "GARTEN", "HAUS", "HEIM", "HOF", "STEIN", "TAL", "WALD", "WERT"},
	},
	adjectives: []string{"ALTER", "BLAUER", "GOLDENER", "GROSSER", "ROTER", "SCHWARZER", "WEISSER", "WILDER"},
	things:     []string{"ADLERBERG", "BERG", "BRUNNEN", "GARTEN", "HIMMEL", "KELLER", "MOND", "SCHLOSS", "STERN", "TURM", "WEG"},
	trees:      []string{"AHORN", "BIRNE", "BUCHE", "EICHE", "HOLUNDER", "LINDE", "TANNE", "WACHOLDER"},
	creatures:  []string{"ADLER", "BÄR", "BOCK", "DACHS", "FALKE", "FUCHS", "HASE", "HIRSCH", "LÖWE", "RABE", "STORCH", "WOLF"},
	places:     []string{"ALTSTADT", "BAD LINDEN", "HEILIGENTAL", "KLOSTERBERG", "MARKTBRUNN", "OBERAU", "SANKT VEIT"},
	numbers:    []string{"DREI", "VIER", "SIEBEN"},
	wine: []string{
		"WEINGUT {s}", "WEINGUT {g} {s}", "SCHLOSS {c}", "WEINGUT {c}", "{g} {s}", "{s}", "WEINKELLEREI {s}", "WEINHAUS {s}", "DOMÄNE {c}", "ZUM {k}",
	},
	beer:    []string{"{c}ER", "{s} BRÄU", "{k}BRÄU", "BRAUEREI {s}", "BRAUHAUS {c}", "{p}ER KLOSTERBRÄU", "PRIVATBRAUEREI {s}", "HOFBRÄU {c}", "{c}ER BRAUHAUS"},
	spirits: []string{"BRENNEREI {s}", "{s}", "EDELBRENNEREI {s}", "{c}", "DESTILLERIE {s}", "{a} {k}", "{g} {s}"},
	cuvees:  []string{"ALTE REBEN", "{c}ER {n}", "RIED {c}", "{t}NGARTEN", "GROSSE RESERVE", "{g}", "VOM {n}", "CUVÉE {g}", "RIED {s}"},
}

var gaelic = tongue{
	surnames: []string{
		"BUCHANAN-REID", "CAMERON", "DRUMMOND", "FARQUHAR", "GALBRAITH", "INNES", "KILPATRICK", "LOCHLAN", "MACANDREW", "MACBEAN", "MACLEISH",
		"MACRAE", "MCALPINE", "MCDERMOTT", "O'DOHERTY", "O'FARRELL", "O'SHEA", "RAFFERTY", "STRACHAN", "TULLY",
	},
	given: []string{"AILSA", "ANGUS", "BRIGID", "CALLUM", "DECLAN", "DUNCAN", "EWAN", "FIONA", "HAMISH", "LORCAN", "MAEVE", "NIALL", "RORY", "SIOBHÁN"},
	coin: [3][]string{
		{"ABER", "ACH", "ARD", "AUCH", "BAL", "BEN ", "CRAIG", "DAL", "DUN", "GLEN ", "GLEN ", "INVER", "KIL", "KIN", "LOCH ", "STRATH", "TAM", "TULLI"},
		{"", "", "A", "NA", "RO", "LO"},
		{"BEG", "BRAE", "CHULISH", "DARROCH", "DORAN", "DUFF", "GARVE", "LACHIE", "LOSSIE", "MORE", "MORRAN", "NESS", "RANNOCH", "RUIE", "VANNAN", "VORLICH"},
	},
	adjectives: []string{"AULD", "BLACK", "BONNIE", "GREY", "OLD", "RED", "WEE", "WILD"},
	things:     []string{"BRAE", "BURN", "CASTLE", "FORTH", "GLEN", "HEATHER", "ISLE", "KIRK", "LOCH", "MOOR", "PEAT", "STRAND"},
	trees:      []string{"ASH", "BRACKEN", "GORSE", "HEATHER", "HOLLY", "OAK", "ROWAN", "THISTLE"},
	creatures:  []string{"CURLEW", "GROUSE", "HARE", "OTTER", "RAVEN", "SALMON", "SEAL", "STAG", "WREN"},
	places:     []string{"BALLYMORRAN", "CLONARD", "DUNMARROW", "INVERLOCHY MOOR", "KILBRAE", "PORT NA CRAIG"},
	numbers:    []string{"TWA", "SEVEN", "NINE"},
	wine:       []string{"{c}", "{s} MEADERY", "{p} MEAD"},
	beer:       []string{"{c} BREWERY", "{s}'S", "{a} {k} BREWING", "{p} BREWING CO.", "{k} & {t}"},
	spirits:    []string{"{c}", "{c}", "{c}", "{c}", "THE {a} {k}", "{s}'S", "{s} & SONS", "{a} {n}", "OLD {c}", "{p}", "ISLE OF {c}", "{g} {s}"},
	cuvees:     []string{"{a} {n}", "THE {k}", "{n} EDITION", "{t} & {n}", "{g}'S CASK", "CASK {#}"},
}

var eastern = tongue{
	surnames: []string{
		"ALEXIOU", "ANDONOV", "BÁTORI", "DIMITRIADIS", "GEORGIEVSKI", "HORVÁTH", "IONESCU", "KALNIŅŠ", "KOVÁCS", "KOWALCZYK", "LAZARIDIS", "MARKOVIĆ",
		"NOVÁK", "PAPADAKIS", "PETRENKO", "RADIŠIĆ", "SAKARTVELI", "SZABÓ", "TSERETELI", "VOJNIK", "YERUSHALMI", "ZELENÝ",
	},
	given: []string{"ALEKSANDRE", "ANDREJ", "DRAGAN", "ELENI", "IRINA", "KATARÍNA", "KONSTANTIN", "LEV", "MARIAM", "MILAN", "NIKOLAI", "SOFIA", "TAMAR", "YANNIS"},
	coin: [3][]string{
		{"AL", "ARG", "BEL", "BOG", "DRA", "GEL", "KAR", "KIND", "KRA", "LEV", "MARE", "NEM", "OLYM", "PEL", "SAM", "STA", "TEL", "THER", "TOK", "VEL", "VOL", "ZEL"},
		{"", "A", "E", "I", "O", "AVO", "EDO", "OPO"},
		{"DARA", "GRAD", "KAVA", "LAVI", "LOS", "MARI", "MIR", "NA", "NIKA", "POLIS", "RIDI", "RISHI", "SIA", "THOS", "VAR", "VINA", "VO", "ZEMI"},
	},
	adjectives: []string{"ANCIENT", "BLACK", "GOLDEN", "HIGH", "IMPERIAL", "OLD", "ROYAL", "WHITE"},
	things:     []string{"AMPHORA", "CROWN", "DAWN", "FORTRESS", "HILL", "MONASTERY", "RIVER", "STEPPE", "TEMPLE", "TOWER"},
	trees:      []string{"BIRCH", "FIG", "LINDEN", "OLIVE", "PLUM", "POMEGRANATE", "RYE"},
	creatures:  []string{"BEAR", "BISON", "EAGLE", "FALCON", "LION", "OWL", "STORK", "WOLF"},
	places:     []string{"ARGOLIDA", "KAKHURI", "NEMEASA", "PODGORA", "TOKARI", "VIPAVNA"},
	numbers:    []string{"THREE", "SEVEN", "NINE"},
	wine:       []string{"{c} WINERY", "{s} ESTATE", "{c}", "DOMAINE {s}", "{c} CELLAR", "{s} WINERY", "MONASTERY OF {c}", "CHATEAU {c}", "{g} {s}", "MARANI {c}"},
	beer:       []string{"{c} PIVO", "PIVOVAR {s}", "BROWAR {c}", "{c}", "PIVOVAR {c}"},
	spirits:    []string{"{c}", "{c} VODKA", "{s}", "{a} {k}", "{a} {n}", "IMPERIAL {c}", "{g} {s}"},
	cuvees:     []string{"{a} {n}", "RESERVE", "QVEVRI", "{k}", "{g}", "GRAND {n}", "OLD VINES", "{t} {n}"},
}

var japanese = tongue{
	surnames: []string{"AOKI", "FUJIMORI", "HAYASHI", "ISHIKAWA", "KOBAYAKAWA", "KURODA", "MATSUBARA", "NAGASHIMA", "OGATA", "SHIMIZU", "TAKEUCHI", "YAMAMURA"},
	given:    []string{"AKIRA", "HANA", "HARUKO", "KENJI", "MICHI", "NAO", "SABURO", "TARO", "YUKI"},
	coin: [3][]string{
		{"AKI", "ASA", "FUJI", "FUKU", "GIN", "HA", "HANA", "HOSHI", "ICHI", "KAMI", "KAZE", "KI", "KIKU", "KITA", "MATSU", "MINA", "MIYA", "NAGA", "OKU", "SAKU",
			"SHIRA", "TAKE", "TSUKI", "UME", "YAMA", "YUKI"},
		{"", "", "NO", "NO", "GA"},
		{"BAYASHI", "GAWA", "HAMA", "HASHI", "IZUMI", "KAWA", "KURA", "MACHI", "MIZU", "MORI", "MURA", "NAMI", "NISHIKI", "SATO", "SHIMA", "TAKA", "TANI", "TSURU", "YAMA", "ZAKI"},
	},
	adjectives: []string{"AOI", "CHISANA", "KURO", "OOKI", "SHIRO"},
	things:     []string{"HANA", "HOSHI", "KAZE", "KUMO", "MIZU", "TAKI", "TSUKI", "YUME"},
	trees:      []string{"KAEDE", "MATSU", "SAKURA", "TAKE", "UME"},
	creatures:  []string{"KAME", "KITSUNE", "TAKA", "TORA", "TSURU", "USAGI"},
	places:     []string{"KITAMURA", "MINATO", "OKUYAMA", "SHIRAHAMA"},
	numbers:    []string{"ICHI", "SAN", "NANA"},
	wine:       []string{"{c}", "{c}", "{c} SHUZO", "{s} BREWERY", "{t} {n}", "{k} {n}"},
	beer:       []string{"{c} BEER", "{c} BREWING", "{k} NO {n} BREWERY"},
	spirits:    []string{"{c}", "{c} DISTILLERY", "THE {c}", "{t} NO {n}", "{s}"},
	cuvees:     []string{"{n} NO {t}", "{t}", "{k} NO {n}", "{c}", "{a} {n}"},
}
