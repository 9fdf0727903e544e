package main

import (
	"io"
	"log/slog"
)

// logFlags say what the log looks like.
type logFlags struct {
	LogFormat string `default:"text" enum:"text,json" placeholder:"text|json" help:"Form of the log on standard error (${default})."`
	LogLevel  string `default:"info" enum:"debug,info,warn,error" placeholder:"LEVEL" help:"Least important lines to log: debug, info, warn or error (${default})."`
}

// logger returns the log that the flags ask for.
func (f logFlags) logger(w io.Writer) *slog.Logger {
	var o slog.HandlerOptions
	level := new(slog.LevelVar)
	if err := level.UnmarshalText([]byte(f.LogLevel)); err != nil {
		panic(err) // the flag takes no other words
	}
	o.Level = level
	if f.LogFormat == "json" {
		return slog.New(slog.NewJSONHandler(w, &o))
	}
	return slog.New(slog.NewTextHandler(w, &o))
}
