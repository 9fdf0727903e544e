package search

import (
	"context"

	"github.com/colaregistry/colaregistry/cola"
)

type Index struct{}
type Update struct{}
type View struct{}

func New(opts Options) *Index                                      { return nil }
func (x *Index) Begin() *Update                                    { return nil }
func (x *Index) View() *View                                       { return nil }
func (x *Index) Fold(ctx context.Context) error                    { return nil }
func (x *Index) Close()                                            {}
func (x *Index) Save(path, storeID string) error                   { return nil }
func (x *Index) Restore(path, storeID string) (m Marks, err error) { return }
func (u *Update) Label(r *cola.IndexRecord)                        {}
func (u *Update) Permittee(p *cola.Permittee)                      {}
func (u *Update) Aliases(a []cola.CategoryAlias)                   {}
func (u *Update) Commit(m Marks) error                             { return nil }
func (u *Update) Abort()                                           {}
func (v *View) Search(s cola.ColaSearch) (p Page)                  { return }
func (v *View) Barcode(value string, limit int) (r cola.BarcodeResult, ok bool) {
	return
}
func (v *View) Permittees(s cola.PermitteeSearch) (p PermitteePage) { return }
func (v *View) Permittee(number string, today cola.Date, recent int) (d cola.PermitteeDetail, ok bool) {
	return
}
func (v *View) Marks() (m Marks) { return }
func (v *View) Stats() (s Stats) { return }
