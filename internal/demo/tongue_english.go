package demo

// english names domestic brands and those of English-speaking countries, and every permittee's company.
var english = tongue{
	surnames: []string{
		"ABERNATHY", "ASHWORTH", "BAKER", "BARLOW", "BECKETT", "BLACKWOOD", "BRANNIGAN", "BRIGHTWELL", "CALLOWAY", "CARRUTHERS",
		"CASTELLANO", "CHANDLER", "CLAYBOURNE", "CRAWFORD", "DELACROIX", "DONNELLY", "DRAKE", "EASTMAN", "ELLSWORTH", "FAIRBANKS",
		"FARROW", "FITZGERALD", "FLETCHER", "GALLAGHER", "GARRISON", "GOODWIN", "GRANGER", "HALLORAN", "HARGROVE", "HATHAWAY",
		"HENDRICKS", "HOLLOWAY", "HUXLEY", "IVERSON", "JEFFCOAT", "KEATING", "KELLERMAN", "KINGSLEY", "LANGFORD", "LINDQVIST",
		"LOCKHART", "MACALLISTER", "MARCHETTI", "MCBRIDE", "MERCER", "MONTGOMERY", "NAVARRO", "NOLAN", "O'BANNON", "O'ROURKE",
		"OAKLEY", "OKAFOR", "PEMBERTON", "PETROSYAN", "PRESCOTT", "QUINLAN", "RADCLIFFE", "REINHARDT", "ROSSI", "RUTLEDGE",
		"SALINGER", "SAWYER", "SCHAEFER", "SHERIDAN", "STANTON", "SUTHERLAND", "TALBOT", "THACKERAY", "TRASK", "UPTON",
		"VALENTINE", "VANCE", "WAINWRIGHT", "WARWICK", "WEATHERBY", "WHITAKER", "WINSLOW", "WOODRUFF", "YARBROUGH", "ZIEGLER",
	},
	given: []string{
		"ADELAIDE", "AMOS", "BEATRICE", "CALVIN", "CLARA", "CORNELIUS", "DAISY", "ELIAS", "ELOISE", "EZRA", "FLORENCE", "GIDEON",
		"HAZEL", "HENRY", "IDA", "JASPER", "JOSEPHINE", "LEVI", "LOUISA", "MABEL", "MILES", "NORA", "OTIS", "PEARL", "RUFUS",
		"SADIE", "SILAS", "THEODORE", "VIOLET", "WALTER",
	},
	coin: [3][]string{
		{"ALDER", "BAR", "BEL", "BRAY", "CAL", "CAR", "DAL", "EL", "FAIR", "FEN", "GLAD", "HAR", "KEL", "LAN", "LORN", "MAR",
			"MER", "NOR", "OR", "PEN", "RAV", "SEL", "STER", "TAR", "THORN", "VAN", "VEL", "WEN", "WIN", "YAR"},
		{"", "", "", "A", "E", "I", "O", "BER", "DEN", "LING", "MER", "TEN", "VER"},
		{"BROOK", "BURY", "DALE", "DON", "FIELD", "FORD", "GATE", "HAM", "HURST", "LAND", "LEIGH", "MERE", "MONT", "MOOR", "NESS",
			"RIDGE", "STEAD", "TON", "VALE", "WICK", "WOOD", "WORTH"},
	},
	adjectives: []string{
		"AMBER", "ANCIENT", "AUTUMN", "BLACK", "BLUE", "BOLD", "BRIGHT", "BROKEN", "COASTAL", "COPPER", "CRIMSON", "CROOKED",
		"DANCING", "DISTANT", "DUSTY", "ELECTRIC", "FALLEN", "FEARLESS", "FORGOTTEN", "GILDED", "GOLDEN", "GRAND", "GREY",
		"HAZY", "HIDDEN", "HIGH", "HOLLOW", "HUMBLE", "IRON", "LAUGHING", "LAZY", "LITTLE", "LONELY", "LOST", "LUCKY", "MIDNIGHT",
		"NOBLE", "OLD", "PAINTED", "QUIET", "RED", "RESTLESS", "RISING", "RUSTY", "SECRET", "SILENT", "SILVER", "SLEEPY", "STONE",
		"SUNDAY", "SUNLIT", "TWISTED", "VELVET", "WANDERING", "WHITE", "WILD", "WINDING", "WINTER",
	},
	things: []string{
		"ACRES", "ANCHOR", "ANVIL", "ARROW", "BARN", "BAY", "BELL", "BEND", "BLUFF", "BRIDGE", "CANYON", "COVE", "CREEK", "CREEK",
		"CREST", "CROSSING", "FALLS", "FARM", "FIELD", "FLATS", "FORGE", "FORK", "GARDEN", "GATE", "GROVE", "HARBOR", "HEARTH",
		"HILL", "HILL", "HOLLOW", "HORIZON", "ISLAND", "KNOLL", "LAKE", "LANE", "LANTERN", "LEDGE", "LIGHTHOUSE", "MEADOW",
		"MESA", "MILL", "MOON", "MOUNTAIN", "ORCHARD", "PASS", "PEAK", "POINT", "PRAIRIE", "QUARRY", "RANCH", "RIDGE", "RIDGE",
		"RIVER", "ROAD", "ROCK", "SHORE", "SPRINGS", "STAR", "SUMMIT", "TOWER", "TRACE", "TRAIL", "VALLEY", "VIEW", "WAGON",
	},
	trees: []string{
		"ALDER", "ASH", "ASPEN", "BIRCH", "CEDAR", "CHERRY", "COTTONWOOD", "CYPRESS", "ELM", "FERN", "HAWTHORN", "HEATHER",
		"HICKORY", "JUNIPER", "LAUREL", "LAVENDER", "MADRONE", "MAGNOLIA", "MANZANITA", "MAPLE", "OAK", "OAK", "OLIVE", "PECAN",
		"PINE", "REDWOOD", "SAGE", "SYCAMORE", "THISTLE", "WALNUT", "WILLOW",
	},
	creatures: []string{
		"BADGER", "BEAR", "BISON", "BOBCAT", "COYOTE", "CRANE", "CROW", "DEER", "DOG", "EAGLE", "EGRET", "ELK", "FALCON", "FOX",
		"GOAT", "GOOSE", "HARE", "HAWK", "HERON", "HORSE", "HOUND", "MAGPIE", "MOOSE", "MULE", "OTTER", "OWL", "OYSTER", "PELICAN",
		"PHEASANT", "QUAIL", "RAVEN", "ROOSTER", "SALMON", "SPARROW", "STAG", "SWALLOW", "TORTOISE", "TROUT", "TURTLE", "WHALE",
		"WOLF", "WREN",
	},
	places: []string{
		"ASHFORD", "BAYVIEW", "BRIDGEPORT", "CEDAR FALLS", "CHESTERTON", "CLEARWATER", "CRESTLINE", "EASTPORT",
		"FAIRHAVEN", "FRANKLIN", "GRANITE CITY", "GREENVILLE", "HARBOR TOWN", "HIGHLAND PARK", "KINGSTON", "LAKESIDE", "MADISON",
		"MILLBROOK", "MONROE", "NORTHGATE", "OAK HARBOR", "PALISADE", "PORT ELLERY", "RIVERSIDE", "SALT FLATS", "SHELBY",
		"SILVERTON", "SOUTHPORT", "STILLWATER", "TIMBERLAKE", "UNION", "WESTFIELD", "WINCHESTER",
	},
	several: []string{
		"ACRES", "ANCHORS", "BELLS", "BRIDGES", "BROTHERS", "CROWS", "FORKS", "GATES", "HILLS", "HORSES", "KEYS", "LANTERNS", "MILLS", "MOONS", "OAKS", "PALMS",
		"PINES", "RAVENS", "RIVERS", "ROADS", "SISTERS", "SPRINGS", "STARS", "STONES", "SWALLOWS", "TOWERS", "WELLS", "WOLVES",
	},
	numbers: []string{"TWO", "THREE", "FOUR", "FIVE", "SIX", "SEVEN", "NINE", "TEN", "TWELVE", "FORTY"},
	wine: []string{
		"{s} FAMILY VINEYARDS", "{s} FAMILY ESTATE", "{s} VINEYARDS", "{s} CELLARS", "{s} WINERY", "{s} ESTATE", "{s} & {s}",
		"{s} VINEYARD & WINERY", "{g} {s}", "{s}'S {n}", "{a} {n}", "{a} {n}", "{a} {n} VINEYARDS", "{a} {n} CELLARS", "{a} {n} WINERY",
		"{t} {n}", "{t} {n} VINEYARDS", "{t} {n} ESTATE", "{t} {n} WINERY", "THE {a} {k}", "{a} {k}", "{k} {n}", "{k} {n} VINEYARD",
		"{#} {m}", "CHATEAU {c}", "{c}", "{c}", "{c} ESTATE", "{c} CELLARS", "{c} WINES",
		"{p} WINE CO.", "MT. {c}", "{c} & {c}", "{t} & {t}", "{k} & {t}", "THE {n} PROJECT", "{g}'S {n}",
	},
	beer: []string{
		"{a} {k} BREWING", "{a} {k} BREWING CO.", "{a} {k} BREWERY", "{p} BREWING COMPANY", "{p} BREWING CO.", "{p} ALE HOUSE",
		"{t} {n} BREWING", "{n} & {n} BREWING CO.", "{c} BREWING", "{c} BREWING COMPANY", "{c} BEER CO.", "{s} BROTHERS BREWERY",
		"{s}'S BREWING", "{k} & {t} BREWERY", "{#} {m} BREWING", "THE {a} {n} BREWERY", "{k} & {k} BREWING", "{a} {n}", "{c} ALEWORKS",
		"{k} {n} ALES", "{t} {n} FARMHOUSE ALES", "{a} {n} BEERWORKS", "{n} {n} BREWING PROJECT",
	},
	spirits: []string{
		"{s}'S", "OLD {s}", "OLD {n}", "OLD {t} {n}", "{s} & SONS", "{s} DISTILLING CO.", "{c} DISTILLERY", "{c}", "{t} {n} DISTILLERY",
		"{a} {k}", "{a} {n}", "{a} {n} DISTILLING", "{p} DISTILLING", "{p} SPIRITS", "{g} {s}", "COLONEL {g} {s}", "{k} {n}",
		"{s} {n}", "{#} {m}", "{t} & {t}", "THE {a} {k}", "{c} SPIRITS", "{t} {n} RESERVE", "UNCLE {g}'S", "{n} {n}",
	},
	cuvees: []string{
		"{a} {n}", "{g}'S BLEND", "{n} VINEYARD", "{t} BLOCK", "{a} {k}", "{s} VINEYARD", "{t} {n} VINEYARD", "RESERVE", "ESTATE",
		"THE {k}", "{g}", "BLOCK {#}", "{a} {t}", "CUVÉE {g}", "ESTATE GROWN", "FOUNDER'S RESERVE", "BARREL SELECT", "{#} {m}",
	},
	companies: []string{
		"{s} {n} LLC", "{s}, INC.", "{c} {n}, LLC", "{t} {n} LLC", "{a} {n} LLC", "{s} & {s} LLC", "{s} FAMILY, L.P.",
		"{a} {k} LLC", "{c} HOLDINGS, INC.", "{c} LLC", "THE {t} {n} COMPANY", "{s} BROTHERS, INC.", "{p} {n}, INC.",
	},
	importers: []string{
		"{s} IMPORTS INC", "{c} WINE IMPORTS, LLC", "{s} & {s} IMPORTERS", "{p} BEVERAGE GROUP, INC.", "{c} SELECTIONS LLC",
		"{s} WINES & SPIRITS, INC.", "{a} {k} IMPORTS LLC", "{c} TRADING COMPANY", "{p} WINE MERCHANTS INC", "{s} INTERNATIONAL, LTD.",
		"{c} BRANDS LLC", "M. {s} & SONS, INC.", "{g} {s} SELECTIONS",
	},
}
