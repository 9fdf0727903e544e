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

	"github.com/colaregistry/colaregistry/internal/web"
)

// terminalWidth returns the width of a terminal in columns, or 0 if unknown.
func terminalWidth(f *os.File) int {
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return width
}

func isTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

// progress shows the progress of a long operation, with its rate and the time left: a bar on a
// terminal, otherwise a line at growing intervals.
type progress struct {
	w        io.Writer
	now      func() time.Time
	title    string
	unit     string
	bars     *mpb.Progress // nil if w is not interactive
	bar      *mpb.Bar
	started  time.Time
	first    int64         // first count passed to set: work completed before a resume
	counted  bool          // set was called
	reported time.Time     // when the last line was printed
	interval time.Duration // until the next line
	done     int64
	note     atomic.Pointer[string] // shown after the bar
}

// A line is printed after firstReport, then at intervals that double up to maxReport.
const (
	firstReport = 5 * time.Second
	maxReport   = time.Minute
)

func newProgress(w io.Writer, title, unit string) *progress {
	p := &progress{w: w, now: time.Now, title: title, unit: unit, interval: firstReport}
	p.started = p.now()
	p.reported = p.started
	if !interactive(w) {
		fmt.Fprintf(w, "%s…\n", title)
		return p
	}
	p.bars = mpb.New(mpb.WithOutput(w), mpb.WithWidth(40))
	p.bar = p.bars.AddBar(0,
		mpb.PrependDecorators(decor.Name(title+" ")),
		mpb.AppendDecorators(decor.Any(p.counts), decor.Elapsed(decor.ET_STYLE_GO, decor.WCSyncSpace), decor.Any(p.suffix)),
	)
	return p
}

// counts formats the counts for the bar.
func (p *progress) counts(s decor.Statistics) string {
	return fmt.Sprintf("%s / %s %s", web.Thousands(s.Current), web.Thousands(s.Total), p.unit)
}

func (p *progress) suffix(decor.Statistics) string {
	if note := p.note.Load(); note != nil {
		return " " + *note
	}
	return ""
}

// set updates the progress; total is negative if unknown.
func (p *progress) set(done, total int64) {
	if !p.counted {
		p.first, p.counted = done, true
	}
	p.show(done, total, p.pace(done, total))
}

// show updates the progress with a note in place of the rate and the time left.
func (p *progress) show(done, total int64, note string) {
	p.done = done
	if p.bar != nil {
		p.note.Store(&note)
		p.bar.SetTotal(max(total, done), false)
		p.bar.SetCurrent(done)
		return
	}
	now := p.now()
	if now.Sub(p.reported) < p.interval {
		return
	}
	p.reported, p.interval = now, min(2*p.interval, maxReport)
	of := ""
	if total >= 0 {
		of = " of " + web.Thousands(total)
	}
	p.line(of, note)
}

// pace returns the average rate and, if the total is known, the time left at this rate.
func (p *progress) pace(done, total int64) string {
	seconds := p.now().Sub(p.started).Seconds()
	if seconds <= 0 || done <= p.first {
		return ""
	}
	rate := float64(done-p.first) / seconds
	text := perSecond(rate)
	if total > done {
		text += ", about " + roughly(time.Duration(float64(total-done)/rate*float64(time.Second))) + " left"
	}
	return text
}

// perSecond formats a rate, with a decimal place if it is low.
func perSecond(rate float64) string {
	if rate < 10 {
		return fmt.Sprintf("%.1f/s", rate)
	}
	return web.Thousands(int64(rate)) + "/s"
}

// end finishes the bar, or prints the final line.
func (p *progress) end() {
	if p.bar != nil {
		p.bar.SetTotal(p.done, true)
		p.bars.Wait()
		return
	}
	p.line("", p.pace(p.done, p.done))
}

// line prints the counts, the elapsed time and a note.
func (p *progress) line(of, note string) {
	if note != "" {
		note = ", " + note
	}
	elapsed := p.now().Sub(p.started).Round(100 * time.Millisecond)
	fmt.Fprintf(p.w, "%s: %s%s %s, %s%s\n", p.title, web.Thousands(p.done), of, p.unit, elapsed, note)
}
