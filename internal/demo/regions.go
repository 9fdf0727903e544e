package demo

// region is a wine appellation: its origin's code, its name on labels, and what is grown there.
type region struct {
	origin       string
	name         string
	reds, whites []string
	bubbles      bool // its sparkling wine is what it is known for
}

// Grapes that several regions share.
var (
	calReds     = []string{"Cabernet Sauvignon", "Zinfandel", "Merlot", "Syrah", "Petite Sirah", "Pinot Noir"}
	calWhites   = []string{"Chardonnay", "Sauvignon Blanc", "Viognier", "Pinot Gris"}
	coolReds    = []string{"Pinot Noir", "Syrah"}
	coolWhites  = []string{"Chardonnay", "Pinot Gris", "Riesling"}
	bordeauxMix = []string{"Cabernet Sauvignon", "Merlot", "Cabernet Franc", "Petit Verdot", "Malbec"}
	rhoneReds   = []string{"Grenache", "Syrah", "Mourvèdre", "Cinsault", "Carignan"}
	rhoneWhites = []string{"Viognier", "Roussanne", "Marsanne", "Grenache Blanc"}
	eastReds    = []string{"Cabernet Franc", "Merlot", "Chambourcin", "Norton", "Marquette"}
	eastWhites  = []string{"Riesling", "Vidal Blanc", "Traminette", "Chardonnay", "Seyval Blanc"}
	chiantiReds = []string{"Sangiovese", "Canaiolo", "Merlot", "Cabernet Sauvignon"}
	germanWhite = []string{"Riesling", "Müller-Thurgau", "Silvaner", "Weissburgunder", "Grauburgunder"}
)

var regions = []region{
	{"01", "CALIFORNIA", calReds, calWhites, false},
	{"01", "NAPA VALLEY", bordeauxMix, []string{"Chardonnay", "Sauvignon Blanc"}, false},
	{"01", "RUTHERFORD", bordeauxMix, []string{"Sauvignon Blanc"}, false},
	{"01", "OAKVILLE", bordeauxMix, []string{"Sauvignon Blanc"}, false},
	{"01", "HOWELL MOUNTAIN", bordeauxMix, []string{"Chardonnay"}, false},
	{"01", "LOS CARNEROS", coolReds, []string{"Chardonnay"}, false},
	{"01", "SONOMA COAST", coolReds, []string{"Chardonnay"}, false},
	{"01", "RUSSIAN RIVER VALLEY", coolReds, []string{"Chardonnay", "Pinot Gris"}, false},
	{"01", "ALEXANDER VALLEY", bordeauxMix, []string{"Chardonnay", "Sauvignon Blanc"}, false},
	{"01", "DRY CREEK VALLEY", []string{"Zinfandel", "Petite Sirah", "Cabernet Sauvignon"}, []string{"Sauvignon Blanc"}, false},
	{"01", "ANDERSON VALLEY", coolReds, []string{"Gewürztraminer", "Riesling", "Chardonnay"}, false},
	{"01", "MENDOCINO", calReds, calWhites, false},
	{"01", "PASO ROBLES", []string{"Cabernet Sauvignon", "Zinfandel", "Syrah", "Grenache", "Mourvèdre"}, rhoneWhites, false},
	{"01", "LODI", []string{"Zinfandel", "Petite Sirah", "Tempranillo", "Barbera"}, []string{"Chardonnay", "Albariño", "Verdelho"}, false},
	{"01", "MONTEREY", coolReds, []string{"Chardonnay", "Riesling"}, false},
	{"01", "SANTA LUCIA HIGHLANDS", coolReds, []string{"Chardonnay"}, false},
	{"01", "STA. RITA HILLS", coolReds, []string{"Chardonnay"}, false},
	{"01", "SANTA YNEZ VALLEY", rhoneReds, rhoneWhites, false},
	{"01", "CENTRAL COAST", calReds, calWhites, false},
	{"01", "NORTH COAST", calReds, calWhites, false},
	{"01", "SIERRA FOOTHILLS", []string{"Zinfandel", "Barbera", "Syrah"}, rhoneWhites, false},
	{"01", "TEMECULA VALLEY", []string{"Syrah", "Tempranillo", "Cabernet Sauvignon"}, calWhites, false},
	{"07", "COLUMBIA VALLEY", bordeauxMix, coolWhites, false},
	{"07", "WALLA WALLA VALLEY", []string{"Syrah", "Cabernet Sauvignon", "Merlot"}, []string{"Viognier", "Chardonnay"}, false},
	{"07", "YAKIMA VALLEY", []string{"Syrah", "Merlot", "Cabernet Sauvignon"}, coolWhites, false},
	{"07", "RED MOUNTAIN", bordeauxMix, []string{"Sauvignon Blanc"}, false},
	{"38", "WILLAMETTE VALLEY", []string{"Pinot Noir", "Gamay"}, coolWhites, false},
	{"38", "DUNDEE HILLS", []string{"Pinot Noir"}, []string{"Chardonnay"}, false},
	{"38", "EOLA-AMITY HILLS", []string{"Pinot Noir"}, []string{"Chardonnay", "Pinot Blanc"}, false},
	{"38", "UMPQUA VALLEY", []string{"Tempranillo", "Pinot Noir"}, []string{"Albariño", "Pinot Gris"}, false},
	{"02", "FINGER LAKES", eastReds, []string{"Riesling", "Gewürztraminer", "Chardonnay"}, false},
	{"02", "SENECA LAKE", eastReds, []string{"Riesling"}, false},
	{"02", "NORTH FORK OF LONG ISLAND", bordeauxMix, []string{"Chardonnay", "Sauvignon Blanc"}, false},
	{"05", "MONTICELLO", []string{"Cabernet Franc", "Petit Verdot", "Merlot", "Tannat"}, []string{"Viognier", "Petit Manseng"}, false},
	{"44", "TEXAS HIGH PLAINS", []string{"Tempranillo", "Tannat", "Mourvèdre"}, []string{"Viognier", "Roussanne"}, false},
	{"44", "TEXAS HILL COUNTRY", []string{"Tempranillo", "Sangiovese"}, []string{"Blanc du Bois", "Vermentino"}, false},
	{"06", "OLD MISSION PENINSULA", eastReds, coolWhites, false},
	{"06", "LEELANAU PENINSULA", eastReds, coolWhites, false},
	{"29", "AUGUSTA", []string{"Norton", "Chambourcin"}, eastWhites, false},
	{"18", "SNAKE RIVER VALLEY", []string{"Syrah", "Malbec"}, coolWhites, false},
	{"51", "BORDEAUX", bordeauxMix, []string{"Sauvignon Blanc", "Sémillon"}, false},
	{"51", "SAINT-ÉMILION GRAND CRU", []string{"Merlot", "Cabernet Franc"}, nil, false},
	{"51", "HAUT-MÉDOC", bordeauxMix, nil, false},
	{"51", "BOURGOGNE", []string{"Pinot Noir"}, []string{"Chardonnay", "Aligoté"}, false},
	{"51", "CHABLIS", nil, []string{"Chardonnay"}, false},
	{"51", "BEAUJOLAIS-VILLAGES", []string{"Gamay"}, []string{"Chardonnay"}, false},
	{"51", "CÔTES DU RHÔNE", rhoneReds, rhoneWhites, false},
	{"51", "CHÂTEAUNEUF-DU-PAPE", rhoneReds, rhoneWhites, false},
	{"51", "SANCERRE", []string{"Pinot Noir"}, []string{"Sauvignon Blanc"}, false},
	{"51", "CÔTES DE PROVENCE", rhoneReds, []string{"Rolle"}, false},
	{"51", "LANGUEDOC", rhoneReds, []string{"Picpoul", "Grenache Blanc"}, false},
	{"51", "ALSACE", []string{"Pinot Noir"}, []string{"Riesling", "Gewürztraminer", "Pinot Gris"}, false},
	{"51", "CHAMPAGNE", []string{"Pinot Noir", "Pinot Meunier"}, []string{"Chardonnay"}, true},
	{"50", "CHIANTI CLASSICO", chiantiReds, nil, false},
	{"50", "TOSCANA", chiantiReds, []string{"Vermentino", "Trebbiano"}, false},
	{"50", "BAROLO", []string{"Nebbiolo"}, nil, false},
	{"50", "BARBERA D'ALBA", []string{"Barbera"}, nil, false},
	{"50", "LANGHE", []string{"Nebbiolo", "Dolcetto", "Barbera"}, []string{"Arneis", "Chardonnay"}, false},
	{"50", "VALPOLICELLA", []string{"Corvina", "Rondinella"}, nil, false},
	{"50", "SOAVE", nil, []string{"Garganega"}, false},
	{"50", "SICILIA", []string{"Nero d'Avola", "Frappato", "Nerello Mascalese"}, []string{"Grillo", "Catarratto"}, false},
	{"50", "PUGLIA", []string{"Primitivo", "Negroamaro"}, []string{"Fiano"}, false},
	{"50", "MONTEPULCIANO D'ABRUZZO", []string{"Montepulciano"}, nil, false},
	{"50", "ALTO ADIGE", []string{"Lagrein", "Schiava"}, []string{"Pinot Grigio", "Gewürztraminer"}, false},
	{"50", "PROSECCO", []string{"Pinot Nero"}, []string{"Glera"}, true},
	{"52", "RIOJA", []string{"Tempranillo", "Garnacha", "Graciano"}, []string{"Viura"}, false},
	{"52", "RIBERA DEL DUERO", []string{"Tempranillo"}, []string{"Albillo"}, false},
	{"52", "PRIORAT", []string{"Garnacha", "Cariñena"}, []string{"Garnacha Blanca"}, false},
	{"52", "RÍAS BAIXAS", nil, []string{"Albariño"}, false},
	{"52", "RUEDA", nil, []string{"Verdejo"}, false},
	{"52", "LA MANCHA", []string{"Tempranillo", "Syrah"}, []string{"Airén", "Macabeo"}, false},
	{"52", "CAVA", []string{"Trepat"}, []string{"Macabeo", "Xarel·lo", "Parellada"}, true},
	{"52", "JEREZ-XÉRÈS-SHERRY", nil, []string{"Palomino", "Pedro Ximénez"}, false},
	{"53", "MOSEL", []string{"Spätburgunder"}, []string{"Riesling"}, false},
	{"53", "RHEINHESSEN", []string{"Dornfelder", "Spätburgunder"}, germanWhite, false},
	{"53", "PFALZ", []string{"Spätburgunder", "Dornfelder"}, germanWhite, false},
	{"64", "BURGENLAND", []string{"Zweigelt", "Blaufränkisch", "St. Laurent"}, []string{"Welschriesling"}, false},
	{"64", "WACHAU", nil, []string{"Grüner Veltliner", "Riesling"}, false},
	{"64", "NIEDERÖSTERREICH", []string{"Zweigelt"}, []string{"Grüner Veltliner"}, false},
	{"54", "DOURO", []string{"Touriga Nacional", "Tinta Roriz", "Touriga Franca"}, []string{"Rabigato", "Viosinho"}, false},
	{"54", "ALENTEJO", []string{"Aragonez", "Trincadeira", "Alicante Bouschet"}, []string{"Antão Vaz"}, false},
	{"54", "VINHO VERDE", []string{"Vinhão"}, []string{"Alvarinho", "Loureiro"}, false},
	{"54", "DÃO", []string{"Touriga Nacional", "Alfrocheiro"}, []string{"Encruzado"}, false},
	{"62", "MENDOZA", []string{"Malbec", "Cabernet Sauvignon", "Bonarda"}, []string{"Chardonnay", "Torrontés"}, false},
	{"62", "UCO VALLEY", []string{"Malbec", "Cabernet Franc"}, []string{"Chardonnay"}, false},
	{"62", "SALTA", []string{"Malbec", "Tannat"}, []string{"Torrontés"}, false},
	{"70", "MAIPO VALLEY", []string{"Cabernet Sauvignon", "Carménère"}, []string{"Chardonnay"}, false},
	{"70", "COLCHAGUA VALLEY", []string{"Carménère", "Syrah"}, []string{"Sauvignon Blanc"}, false},
	{"70", "CASABLANCA VALLEY", coolReds, []string{"Sauvignon Blanc", "Chardonnay"}, false},
	{"63", "BAROSSA VALLEY", []string{"Shiraz", "Grenache", "Mataro"}, []string{"Semillon", "Riesling"}, false},
	{"63", "MCLAREN VALE", []string{"Shiraz", "Grenache"}, []string{"Fiano"}, false},
	{"63", "MARGARET RIVER", []string{"Cabernet Sauvignon", "Merlot"}, []string{"Chardonnay", "Semillon"}, false},
	{"84", "MARLBOROUGH", []string{"Pinot Noir"}, []string{"Sauvignon Blanc", "Pinot Gris"}, false},
	{"84", "CENTRAL OTAGO", []string{"Pinot Noir"}, []string{"Riesling"}, false},
	{"91", "STELLENBOSCH", []string{"Cabernet Sauvignon", "Pinotage", "Shiraz"}, []string{"Chenin Blanc"}, false},
	{"91", "SWARTLAND", []string{"Syrah", "Cinsault"}, []string{"Chenin Blanc"}, false},
	{"57", "NAOUSSA", []string{"Xinomavro"}, nil, false},
	{"57", "NEMEA", []string{"Agiorgitiko"}, nil, false},
	{"57", "SANTORINI", nil, []string{"Assyrtiko", "Athiri"}, false},
	{"56", "GALILEE", []string{"Cabernet Sauvignon", "Syrah"}, []string{"Chardonnay"}, false},
	{"75", "TOKAJ", nil, []string{"Furmint", "Hárslevelű"}, false},
	{"6E", "KAKHETI", []string{"Saperavi"}, []string{"Rkatsiteli", "Mtsvane"}, false},
	{"6X", "GORIŠKA BRDA", []string{"Refošk", "Merlot"}, []string{"Rebula"}, false},
	{"6Y", "DALMACIJA", []string{"Plavac Mali"}, []string{"Pošip"}, false},
	{"6J", "CODRU", []string{"Fetească Neagră", "Merlot"}, []string{"Fetească Albă"}, false},
}

// regionsByOrigin groups the regions by origin code.
func regionsByOrigin() map[string][]*region {
	byOrigin := map[string][]*region{}
	for i := range regions {
		r := &regions[i]
		byOrigin[r.origin] = append(byOrigin[r.origin], r)
	}
	return byOrigin
}
