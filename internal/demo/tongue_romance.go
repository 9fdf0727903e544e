package demo

var french = tongue{
	surnames: []string{
		"AUBERTIN", "BEAUCHAMP", "BÉRARD", "BLANCHET", "BONNEFOY", "CHABERT", "CHASSAGNE", "CLÉMENT", "COURTOIS", "D'ARGENT",
		"DE LA TOUR", "DELORME", "DUVERNAY", "ÉTIENNE", "FAUCHER", "FOURNIER", "GAUTHERIN", "GIRARDIN", "GUÉRIN", "JACQUEMIN",
		"LACROIX", "LAFARGE", "LEFÈVRE", "LÉGER", "MARCHAND", "MÉNARD", "MOREAU", "PAGÈS", "PERRACHON", "PRÉVOST", "RENAUDIN",
		"ROUSSET", "SAVIGNAC", "THIBAULT", "VAUCLAIR", "VERDIER", "VILLENEUVE",
	},
	given: []string{
		"ADRIEN", "AGNÈS", "ALBERT", "ANTOINE", "BERNARD", "CÉLINE", "CHARLES", "CLAIRE", "ÉLODIE", "ÉMILE", "FRANÇOIS", "GASTON",
		"HÉLÈNE", "HENRI", "JEAN-LUC", "JEANNE", "LOUIS", "MARGAUX", "MATHILDE", "MAXIME", "OLIVIER", "PASCAL", "PIERRE", "RENÉ",
		"SOLANGE", "SYLVIE",
	},
	coin: [3][]string{
		{"BEAU", "BEL", "BOIS", "BRAN", "CAN", "CHAM", "CHAN", "CLAIR", "COUR", "FON", "GRAND", "HAUT-", "LA ", "LAN", "LES ", "MALE",
			"MAR", "MON", "MONT", "PEY", "PUY", "ROC", "ROQUE", "SAINT-", "SAU", "TER", "TOUR", "VAL", "VER", "VIEUX "},
		{"", "", "BER", "CA", "DE", "GE", "LE", "MAR", "RE", "SAN", "TE", "VI"},
		{"AC", "BREUIL", "CHÊNE", "CLOS", "DIEU", "FLEUR", "GNAN", "LIÈRE", "MONT", "NAC", "NET", "PIERRE", "RAC", "REY", "RIVE",
			"SAC", "SEUIL", "TEL", "VERNE", "VILLE", "ZAN"},
	},
	adjectives: []string{"BEAU", "BLANC", "BON", "GRAND", "HAUT", "JOLI", "NOIR", "PETIT", "ROUGE", "VIEUX"},
	things: []string{
		"BOIS", "CHAMP", "CHEMIN", "CLOCHER", "COTEAU", "ÉTANG", "FORÊT", "JARDIN", "MOULIN", "PAVILLON", "PONT", "PRÉ", "PRESSOIR",
		"ROCHER", "RUISSEAU", "SENTIER", "VERGER", "VIGNOBLE",
	},
	trees:     []string{"AMANDIERS", "CÈDRES", "CHÊNES", "CYPRÈS", "GENÊTS", "LAVANDES", "OLIVIERS", "PINS", "PLATANES", "TILLEULS"},
	creatures: []string{"ALOUETTE", "CERF", "CIGALE", "COQ", "HÉRISSON", "HIRONDELLE", "LIÈVRE", "MERLE", "RENARD", "ROSSIGNOL"},
	places:    []string{"AUBIGNY", "BEAULIEU", "BRISSAC", "CASTELNAU", "FLAVIGNY", "MONTREUIL", "PONTIGNAN", "ROCHEFORT", "VILLEDIEU"},
	numbers:   []string{"DEUX", "TROIS", "QUATRE", "SEPT", "NEUF"},
	wine: []string{
		"CHÂTEAU {c}", "CHÂTEAU {c}", "CHÂTEAU {c}", "CHATEAU {c}", "CHÂTEAU LA {c}", "CHÂTEAU DES {t}", "DOMAINE {c}", "DOMAINE {s}",
		"DOMAINE DES {t}", "DOMAINE DU {n}", "DOMAINE DE {c}", "CLOS {c}", "CLOS DES {t}", "MAS {c}", "MAISON {s}", "{s} & FILS",
		"{s} PÈRE & FILS", "{g} {s}", "{g} {s}", "{g} {s} & FILS", "LES {#} {t}", "LE {a} {n}", "CAVE DE {p}", "CHAMPAGNE {s}", "L'{k}",
	},
	beer:    []string{"BRASSERIE {c}", "BRASSERIE DE {p}", "BRASSERIE DU {n}", "ABBAYE DE {p}", "BRASSERIE {s}", "LA {a} {k}", "{c}"},
	spirits: []string{"MAISON {s}", "{s} & CIE", "{g} {s}", "{c}", "DISTILLERIE {s}", "CHÂTEAU {c}", "LE {k}", "{s} FRÈRES", "DOMAINE DE {c}"},
	cuvees: []string{
		"CUVÉE {g}", "CUVÉE PRESTIGE", "VIEILLES VIGNES", "LES {t}", "LE {n}", "GRANDE RÉSERVE", "LA {a} {k}", "TRADITION", "CLOS DU {n}",
		"CUVÉE DES {t}", "LES {#} {t}", "SÉLECTION {g}", "L'ÂME DU {n}",
	},
}

var italian = tongue{
	surnames: []string{
		"ALBERTI", "BARTOLINI", "BELLUCCI", "BIANCHI", "BRUSCHI", "CALDERARA", "CANTELLI", "CARDUCCI", "CASTELLI", "COLOMBO",
		"D'ANGELO", "DE SANTIS", "DELL'OLMO", "FALCONE", "FERRANTE", "FIORENTINI", "GALLIANI", "GIORDANO", "GRASSI", "LOMBARDI",
		"MANCINI", "MARTINELLI", "MONTANARI", "MORETTI", "PELLEGRINI", "RINALDI", "SALVIATI", "SANTORO", "TADDEI", "VALENTI",
		"VENTURI", "ZANELLA",
	},
	given: []string{
		"ALDO", "BEATRICE", "CARLO", "CATERINA", "ELENA", "ENZO", "FABIO", "FRANCESCA", "GIACOMO", "GINEVRA", "GIULIA", "LORENZO",
		"LUCIA", "MARCO", "NICCOLÒ", "PAOLO", "PIETRO", "ROSSANA", "SILVIA", "UGO",
	},
	coin: [3][]string{
		{"AL", "BEL", "BOR", "CA' ", "CAL", "CAMPO", "CASTEL", "COL", "FON", "GAR", "LAM", "MAL", "MON", "MONTE", "PIA", "POG", "ROC", "SAN ",
			"SER", "TOR", "VAL", "VER"},
		{"", "", "BER", "CE", "DI", "LA", "MO", "NA", "RA", "TE", "VI"},
		{"BIANCO", "CHIARA", "CINO", "DINO", "FIORE", "GIO", "GNANO", "GRANO", "LUNGO", "NERO", "NOVO", "PIANO", "RELLO", "RINO",
			"ROSSO", "TANO", "TINO", "VECCHIO", "VERDE", "ZANO"},
	},
	adjectives: []string{"ALTA", "ANTICA", "BELLA", "BIANCA", "GRANDE", "NOBILE", "NUOVA", "ROSSA", "VECCHIA"},
	things: []string{
		"CASCINA", "COLLINA", "CORTE", "FONTANA", "LUNA", "MASSERIA", "PIEVE", "ROCCA", "STRADA", "TERRAZZA", "TORRE", "VALLE", "VIGNA", "VILLA",
	},
	trees:     []string{"CASTAGNO", "CIPRESSO", "FICO", "GINESTRA", "LIMONE", "MANDORLO", "NOCE", "OLIVO", "OLMO", "PINO", "ROVERE", "TIGLIO"},
	creatures: []string{"AIRONE", "AQUILA", "CAVALLO", "CERVO", "CICALA", "CINGHIALE", "FALCO", "GALLO", "LEONE", "LUPO", "RONDINE", "VOLPE"},
	places:    []string{"ALBARO", "BAGNOLO", "CASALE", "FIUMARA", "LUCIGNANO", "MONTALBANO", "ROCCAFORTE", "SAN LEO", "TORRENOVA"},
	numbers:   []string{"DUE", "TRE", "QUATTRO", "CINQUE", "SETTE"},
	wine: []string{
		"TENUTA {c}", "TENUTA {s}", "CANTINA {c}", "CANTINE {s}", "CASTELLO DI {c}", "CASTELLO {c}", "FATTORIA {c}", "PODERE {c}", "AZIENDA AGRICOLA {s}",
		"{g} {s}", "{g} {s}", "FRATELLI {s}", "VILLA {c}", "CA' DEL {t}", "{a} {n}", "POGGIO AL {t}", "LA {n} DEL {k}", "{s}", "CASA {s}",
		"BORGO {c}", "MASSERIA {c}", "VIGNETI {s}", "IL {k}",
	},
	beer:    []string{"BIRRA {c}", "BIRRIFICIO {c}", "BIRRIFICIO DEL {k}", "BIRRA {s}", "BIRRIFICIO {s}"},
	spirits: []string{"DISTILLERIA {s}", "{s}", "CASA {s}", "{g} {s}", "ANTICA DISTILLERIA {s}", "AMARO {c}", "GRAPPA {s}", "{c}", "VILLA {c}"},
	cuvees: []string{
		"{a} {n}", "VIGNA {g}", "VIGNA DEL {t}", "IL {k}", "LA {n}", "RISERVA {g}", "TERRE DI {p}", "COLLE {s}", "RISERVA", "{g}", "DONNA {g}",
	},
}

var spanish = tongue{
	surnames: []string{
		"AGUIRRE", "ALCÁZAR", "ARÁNGUIZ", "BARRIENTOS", "BELTRÁN", "CALDERÓN", "CÁRDENAS", "CIFUENTES", "DE LA PEÑA", "ECHEVERRÍA",
		"ESCUDERO", "FUENTES", "GALINDO", "GARCÉS", "HERRERA", "IBÁÑEZ", "LARRAÍN", "LOZANO", "MÁRQUEZ", "MENDIETA", "MONTERO",
		"MUÑOZ", "NÚÑEZ", "OLIVARES", "ORTEGA", "PALACIOS", "QUIROGA", "RENTERÍA", "SALDÍVAR", "SANDOVAL", "URRUTIA", "VALDÉS",
		"VILLALOBOS", "ZÚÑIGA",
	},
	given: []string{
		"ALEJANDRO", "ANA", "BEATRIZ", "CARMEN", "DIEGO", "ELENA", "ESTEBAN", "FELIPE", "INÉS", "ISABEL", "JAVIER", "JOAQUÍN", "LUCÍA",
		"MANUEL", "MARÍA", "MARTÍN", "PALOMA", "RAFAEL", "RAMÓN", "SEBASTIÁN", "SOFÍA", "TERESA",
	},
	coin: [3][]string{
		{"ALTA", "ARA", "BARRAN", "CAL", "CAN", "CAR", "CASA", "ESPI", "GRAN", "LA ", "LOS ", "MAR", "MIRA", "MON", "MONTE", "PEÑA", "RIO",
			"SAN ", "SANTA ", "SIERRA", "TORRE", "VAL", "VILLA"},
		{"", "", "", "DE", "LA", "LI", "MO", "NE", "RI", "TA"},
		{"BLANCA", "BRAVA", "CLARA", "DERO", "FLORES", "GORDA", "HERMOSA", "LLANO", "LUNA", "MAR", "NEGRA", "NUEVO", "QUEMADA",
			"RICA", "ROJA", "RREAL", "SECA", "TERNA", "VERDE", "VIEJA"},
	},
	adjectives: []string{"ALTO", "ANTIGUO", "BLANCO", "BRAVO", "BUENO", "DULCE", "GRAN", "NEGRO", "NUEVO", "ROJO", "VIEJO"},
	things: []string{
		"ALBA", "ARROYO", "CAMINO", "CAMPO", "CERRO", "CIELO", "COLINA", "CORAZÓN", "FUEGO", "HACIENDA", "HORNO", "JARDÍN", "LLANO", "MOLINO",
		"PUENTE", "PUERTO", "SENDERO", "SOL", "SUEÑO", "VALLE", "VIENTO",
	},
	trees:     []string{"AGAVE", "ALMENDRO", "CEDRO", "ENCINA", "HIGUERA", "LAUREL", "MEZQUITE", "NARANJO", "NOGAL", "OLIVO", "PINO", "ROBLE"},
	creatures: []string{"ÁGUILA", "BURRO", "CABALLO", "CÓNDOR", "COYOTE", "GALLO", "GOLONDRINA", "HALCÓN", "JAGUAR", "LOBO", "PUMA", "TORO", "VENADO", "ZORRO"},
	places:    []string{"ALMANZAR", "ATOTONILCO ALTO", "EL CARMEN", "LA MERCED", "MIRAFLORES", "PUEBLO NUEVO", "SAN LUCAS", "SANTA ROSA", "TEPANGO", "VILLAFLOR"},
	numbers:   []string{"DOS", "TRES", "CUATRO", "CINCO", "SIETE", "DIEZ"},
	wine: []string{
		"BODEGAS {s}", "BODEGA {c}", "BODEGAS {c}", "VIÑA {c}", "VIÑA {s}", "VIÑA SANTA {g}", "FINCA {c}", "CASTILLO DE {c}",
		"MARQUÉS DE {c}", "CASA {s}", "{g} {s}", "{s} E HIJOS", "FAMILIA {s}", "{a} {n}", "ALTOS DE {c}", "VIÑEDOS {s}", "EL {k}", "CLOS {c}",
		"{#} CERROS", "PAGO DE {c}", "TIERRA {c}",
	},
	beer: []string{"CERVEZA {c}", "CERVECERÍA {c}", "CERVECERÍA {s}", "CERVEZA {k}", "CERVECERÍA DE {p}", "{c}", "LA {c}"},
	spirits: []string{
		"CASA {s}", "CASA {c}", "DON {g}", "DON {g} {s}", "DOÑA {g}", "EL {k}", "EL {k} {a}", "TEQUILA {c}", "{#} CORAZONES", "LA {c}", "{a} {n}",
		"HACIENDA {c}", "RON {c}", "SAN {g}", "MEZCAL {c}", "TEQUILA {s}", "RANCHO {c}", "SEÑOR {s}",
	},
	cuvees: []string{
		"GRAN RESERVA", "RESERVA", "CRIANZA", "RESERVA DE FAMILIA", "{a} {n}", "EL {k}", "LA {n}", "SELECCIÓN {g}", "VIÑAS VIEJAS", "{n} DEL {k}",
		"COSECHA {g}", "{g}",
	},
}

var portuguese = tongue{
	surnames: []string{
		"ALMEIDA", "AZEVEDO", "BARROS", "CARVALHO", "CONCEIÇÃO", "COUTINHO", "D'ÁVILA", "FONTOURA", "GONÇALVES", "GUIMARÃES", "LEITÃO",
		"MAGALHÃES", "MESQUITA", "NORONHA", "PINHEIRO", "QUEIRÓS", "SALDANHA", "TEIXEIRA", "VASCONCELOS",
	},
	given: []string{"AFONSO", "ÁLVARO", "AMÁLIA", "BENTO", "CATARINA", "DUARTE", "HELENA", "JOÃO", "JOSÉ", "LEONOR", "LUÍSA", "NUNO", "SIMÃO", "TERESA"},
	coin: [3][]string{
		{"AL", "BOA ", "CAM", "CAR", "FON", "LAGO", "MON", "MONTE", "PE", "PORTE", "QUIN", "RIBEI", "SANTA ", "TORRE", "VAL", "VALE "},
		{"", "", "DE", "LA", "MA", "NE", "RI", "TA"},
		{"BRANCO", "CHÃO", "CLARA", "DELA", "LHO", "MAR", "NEGRO", "NOVA", "RÃO", "RAL", "REIRA", "SECO", "VELHA", "VERDE", "VISTA"},
	},
	adjectives: []string{"ALTO", "ANTIGO", "BOM", "BRANCO", "NEGRO", "NOVO", "VELHO", "VERDE"},
	things:     []string{"CAMINHO", "CASAL", "FONTE", "LAGAR", "MOINHO", "MONTE", "OUTEIRO", "PAÇO", "PORTAL", "RIO", "SOLAR", "VALE"},
	trees:      []string{"AMENDOEIRA", "CASTANHEIRO", "FIGUEIRA", "LARANJEIRA", "OLIVEIRA", "PINHEIRO", "SOBREIRO"},
	creatures:  []string{"ÁGUIA", "ANDORINHA", "CAVALO", "CEGONHA", "GALO", "LOBO", "PAVÃO", "PERDIZ"},
	places:     []string{"ALDEIA NOVA", "BARCA D'ALVA", "PENEDO", "SÃO BENTO", "VILA FLOR"},
	numbers:    []string{"DUAS", "TRÊS", "SETE"},
	wine: []string{
		"QUINTA DO {n}", "QUINTA DA {t}", "QUINTA DE {c}", "QUINTA {c}", "HERDADE DE {c}", "CASAL DO {n}", "CASA {s}", "ADEGA DE {p}", "{g} {s}",
		"{s} & IRMÃOS", "MONTE DA {t}", "VALE DO {k}",
	},
	beer:    []string{"CERVEJARIA {c}", "CERVEJA {s}", "CERVEJARIA DO {n}"},
	spirits: []string{"CACHAÇA {c}", "CASA {s}", "ENGENHO {c}", "FAZENDA {c}", "VELHO {s}", "{c}", "CACHAÇA DO {k}"},
	cuvees:  []string{"RESERVA", "GRANDE RESERVA", "VINHAS VELHAS", "COLHEITA SELECIONADA", "{a} {n}", "DONA {g}", "{n} DO {k}", "TINTO"},
}
