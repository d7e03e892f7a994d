// Command renderer renders Helm charts for as long as its standard input is open: each
// line is a request, each answer a line, both JSON. It calls the same code as the helm
// command line, without its start-up, so that thousands of renders take seconds.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime/debug"
)

// request is one line of input. Do says what is wanted; the other fields are read by it.
type request struct {
	Do     string      `json:"do"`
	Render renderInput `json:"render"`
	Old    renderInput `json:"old"`
	Chart  string      `json:"chart"`
}

// answer is one line of output: a result, or the error as the helm command line words it.
type answer struct {
	Result any    `json:"result,omitempty"`
	Error  string `json:"error,omitempty"`
}

func serve(asked request) (any, error) {
	switch asked.Do {
	case "render":
		return render(asked.Render)
	case "cover":
		return cover(asked.Render)
	case "reuse":
		return reuse(asked.Old, asked.Render)
	case "branches":
		return branches(asked.Chart)
	case "reads":
		return reads(asked.Chart)
	}
	return nil, fmt.Errorf("unknown request %q", asked.Do)
}

// guarded turns a panic of a template function into an error: one chart must not end the
// process that renders others.
func guarded(asked request) (result any, err error) {
	defer func() {
		if found := recover(); found != nil {
			err = fmt.Errorf("panic: %v", found)
		}
	}()
	return serve(asked)
}

func run(in io.Reader, out io.Writer) error {
	decoder := json.NewDecoder(bufio.NewReaderSize(in, 1<<20))
	buffered := bufio.NewWriterSize(out, 1<<20)
	encoder := json.NewEncoder(buffered)
	encoder.SetEscapeHTML(false)
	for {
		var asked request
		if err := decoder.Decode(&asked); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		var reply answer
		if result, err := guarded(asked); err != nil {
			reply.Error = err.Error()
		} else {
			reply.Result = result
		}
		if err := encoder.Encode(reply); err != nil {
			return err
		}
		if err := buffered.Flush(); err != nil {
			return err
		}
	}
}

func main() {
	// Renders leave much garbage and little else: collecting it seldom is worth some memory.
	debug.SetGCPercent(800)
	// Helm logs what it finds odd, such as links in a chart; the command line hides most of it.
	slog.SetDefault(slog.New(slog.DiscardHandler))
	if err := run(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintf(os.Stderr, "renderer: %s\n", err)
		os.Exit(1)
	}
}
