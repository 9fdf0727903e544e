package main

import (
	"fmt"
	"io"
	"os"
	"sync/atomic"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
	"golang.org/x/term"
)

// terminalWidth returns the width of a terminal in columns, 0 if unknown.
func terminalWidth(f *os.File) int {
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return width
}

func isTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

// progress shows the progress of a long operation: a bar on a terminal, otherwise a line every
// reportEvery.
type progress struct {
	w        io.Writer
	title    string
	unit     string
	bars     *mpb.Progress // nil if w is not a terminal
	bar      *mpb.Bar
	started  time.Time
	reported time.Time
	done     int64
	note     atomic.Pointer[string] // shown after the bar
}

const reportEvery = 5 * time.Second

func newProgress(w io.Writer, title, unit string) *progress {
	p := &progress{w: w, title: title, unit: unit, started: time.Now(), reported: time.Now()}
	if !interactive(w) {
		fmt.Fprintf(w, "%s…\n", title)
		return p
	}
	p.bars = mpb.New(mpb.WithOutput(w), mpb.WithWidth(40))
	p.bar = p.bars.AddBar(0,
		mpb.PrependDecorators(decor.Name(title+" ")),
		mpb.AppendDecorators(decor.CountersNoUnit("%d / %d "+unit),
			decor.Elapsed(decor.ET_STYLE_GO, decor.WCSyncSpace), decor.Any(p.suffix)),
	)
	return p
}

// describe sets the text shown after the bar. Without a terminal, it has no effect.
func (p *progress) describe(text string) { p.note.Store(&text) }

func (p *progress) suffix(decor.Statistics) string {
	if note := p.note.Load(); note != nil {
		return " " + *note
	}
	return ""
}

// set updates the progress; total is negative if unknown.
func (p *progress) set(done, total int64) {
	p.done = done
	if p.bar != nil {
		p.bar.SetTotal(max(total, done), false)
		p.bar.SetCurrent(done)
		return
	}
	if time.Since(p.reported) < reportEvery {
		return
	}
	p.reported = time.Now()
	of := ""
	if total >= 0 {
		of = fmt.Sprintf(" of %d", total)
	}
	fmt.Fprintf(p.w, "%s: %d%s %s, %s\n", p.title, done, of, p.unit, p.elapsed())
}

// end finishes the bar, or prints the final line.
func (p *progress) end() {
	if p.bar != nil {
		p.bar.SetTotal(p.done, true)
		p.bars.Wait()
		return
	}
	fmt.Fprintf(p.w, "%s: %d %s, %s\n", p.title, p.done, p.unit, p.elapsed())
}

func (p *progress) elapsed() time.Duration {
	return time.Since(p.started).Round(100 * time.Millisecond)
}
