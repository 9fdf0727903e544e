package demo

import (
	"bufio"
	"fmt"
	"io"
)

// WriteColas writes the labels as JSON lines in the contract's field names, as the import of COLAs reads them. Equal
// options write equal bytes. It fails when the options fail Check or the writer does.
func WriteColas(w io.Writer, o Options) error {
	if err := o.Check(); err != nil {
		return err
	}
	out := bufio.NewWriterSize(w, 1<<16)
	var line []byte
	for c := range Labels(o) {
		line = append(appendCola(line[:0], c), '\n')
		if _, err := out.Write(line); err != nil {
			return fmt.Errorf("write demonstration labels: %w", err)
		}
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("write demonstration labels: %w", err)
	}
	return nil
}
