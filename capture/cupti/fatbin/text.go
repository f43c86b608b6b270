package fatbin

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
)

// readText takes an image for PTX text. It looks for the version and target
// that every module begins with.
func readText(image []byte) ([]Entry, error) {
	b := image
	if end := bytes.IndexByte(b, 0); end >= 0 {
		b = b[:end]
	}
	e := Entry{Kind: PTX, Bits64: true, stored: b}
	words := directives{rest: b}
	if words.next() != ".version" {
		return nil, errors.New("the image is no fat binary, no cubin, and no PTX: it does not begin with .version")
	}
	version := words.next()
	if n, err := fmt.Sscanf(version, "%d.%d", &e.Version[0], &e.Version[1]); n != 2 || err != nil {
		return nil, fmt.Errorf("PTX of the version %.20q", version)
	}
	if words.next() != ".target" {
		return nil, errors.New("PTX without a .target after its .version")
	}
	target, options, _ := strings.Cut(words.next(), ",")
	var err error
	if e.Arch, err = ParseArch(target); err != nil {
		return nil, fmt.Errorf("PTX: %w", err)
	}
	// The options of .target may stand apart: ".target sm_90, debug".
	word := words.next()
	for ; word != "" && word[0] != '.'; word = words.next() {
		options += "," + word
	}
	e.Debug = strings.Contains(","+options+",", ",debug,")
	if word == ".address_size" {
		e.Bits64 = words.next() == "64"
	}
	return []Entry{e}, nil
}

// directives are the words at the beginning of PTX, without comments.
type directives struct{ rest []byte }

// next is the next word, or "".
func (d *directives) next() string {
	for {
		d.rest = bytes.TrimLeft(d.rest, " \t\r\n\v\f")
		var end []byte
		switch {
		case bytes.HasPrefix(d.rest, []byte("//")):
			end = []byte("\n")
		case bytes.HasPrefix(d.rest, []byte("/*")):
			end = []byte("*/")
		default:
			n := bytes.IndexAny(d.rest, " \t\r\n\v\f/")
			if n < 0 {
				n = len(d.rest)
			}
			// No word here is long: what is, is no PTX.
			word := d.rest[:min(n, 256)]
			d.rest = d.rest[len(word):]
			return string(word)
		}
		_, d.rest, _ = bytes.Cut(d.rest, end)
	}
}
