package demo

import "github.com/colaregistry/colaregistry/cola"

// container is what a product is sold in.
type container struct {
	kind   cola.Text // as ContainerTypes lists them
	volume float64
	unit   cola.Text
	weight float64
}

var wineContainers = []container{
	{"bottle", 750, "milliliters", 80}, {"bottle", 1.5, "liters", 5}, {"bottle", 375, "milliliters", 3}, {"bottle", 187, "milliliters", 1},
	{"bottle", 500, "milliliters", 1}, {"bottle", 3, "liters", 0.7}, {"box", 3, "liters", 2.4}, {"box", 5, "liters", 0.6}, {"bag", 1.5, "liters", 0.4},
	{"can", 250, "milliliters", 1.6}, {"can", 375, "milliliters", 1.4}, {"carton", 500, "milliliters", 0.7}, {"pouch", 1.5, "liters", 0.4},
	{"jug", 4, "liters", 0.6}, {"jug", 1, "gallons", 0.2}, {"keg", 19.5, "liters", 0.9}, {"keg", 30, "liters", 0.1},
}

var beerContainers = []container{
	{"can", 12, "fluid ounces", 34}, {"can", 16, "fluid ounces", 27}, {"can", 1, "pints", 2.4}, {"can", 19.2, "fluid ounces", 3}, {"bottle", 12, "fluid ounces", 16},
	{"bottle", 22, "fluid ounces", 4}, {"bottle", 500, "milliliters", 3}, {"bottle", 750, "milliliters", 2.6}, {"bottle", 330, "milliliters", 3},
	{"bottle", 1, "quarts", 0.5}, {"keg", 0.5, "beer barrels", 2.2}, {"keg", 5.17, "gallons", 1.6}, {"keg", 0.25, "beer barrels", 0.6},
	{"cask", 10.8, "gallons", 0.4}, {"jug", 64, "fluid ounces", 1},
}

var spiritContainers = []container{
	{"bottle", 750, "milliliters", 72}, {"bottle", 1, "liters", 8}, {"bottle", 1.75, "liters", 6}, {"bottle", 375, "milliliters", 4.5}, {"bottle", 50, "milliliters", 4},
	{"bottle", 200, "milliliters", 2}, {"can", 355, "milliliters", 1.8}, {"can", 12, "fluid ounces", 0.5}, {"pouch", 200, "milliliters", 0.4},
	{"pod", 50, "milliliters", 0.3}, {"jug", 1.75, "liters", 0.4}, {"carton", 200, "milliliters", 0.1}, {"cask", 5, "liters", 0.2},
}

// containersOf returns the containers of a commodity.
func containersOf(kind cola.ProductType) []container {
	switch kind {
	case cola.MaltBeverage:
		return beerContainers
	case cola.DistilledSpirits:
		return spiritContainers
	}
	return wineContainers
}
