package demo

import "github.com/colaregistry/colaregistry/cola"

// CategoryAliases returns transitions of the category taxonomy: paths as they were called before, and as they are now. They
// are the same for all options. Some lead to a path whose prefix has moved too, so a reader must follow them on.
func CategoryAliases(Options) []cola.CategoryAlias {
	return []cola.CategoryAlias{
		{Alias: "Beer > India Pale Ale", Path: "Beer > Ale > India Pale Ale"},
		{Alias: "Beer > Ale > India Pale Ale > New England IPA", Path: "Beer > Ale > India Pale Ale > Hazy IPA"},
		{Alias: "Beer > Sour", Path: "Beer > Ale > Sour Ale"},
		{Alias: "Beer > Hard Seltzer", Path: "Liquor > Ready to Drink > Hard Seltzer"},
		{Alias: "Liquor > Whisky", Path: "Liquor > Whiskey"},
		{Alias: "Liquor > Bourbon", Path: "Liquor > Whisky > Bourbon"},
		{Alias: "Liquor > Tequila", Path: "Liquor > Agave > Tequila"},
		{Alias: "Wine > Champagne", Path: "Wine > Sparkling Wine > Champagne"},
		{Alias: "Wine > Rose Wine", Path: "Wine > Rosé Wine"},
		{Alias: "Wine > Port", Path: "Wine > Dessert Wine > Port"},
	}
}
