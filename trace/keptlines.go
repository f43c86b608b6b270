package trace

import (
	"errors"
	"fmt"
)

// keptLines walks the lines of unknown types, those of one launch at a time.
type keptLines struct {
	r      *Reader
	f      *frameReader
	launch uint32
	flags  uint8
	begun  bool
	frame  int // next frame
	c      cursor
	raw    []byte
	line   []byte
	at     uint64 // rows before line
	held   bool   // line is still to be handed out
}

// next returns the next line of the launch that stands before its row of
// that number.
func (k *keptLines) next(launch uint32, flags uint8, row uint64) (line []byte, ok bool, err error) {
	if !k.begun || launch != k.launch || flags != k.flags {
		k.begun, k.launch, k.flags, k.frame = true, launch, flags, 0
		k.c, k.held = cursor{}, false
	}
	for !k.held {
		if len(k.c.b) > 0 {
			if k.at, k.line = keptLine(&k.c); k.c.bad {
				continue
			}
			k.held = true
			break
		}
		for ; k.frame < len(k.r.lines); k.frame++ {
			if h := &k.r.lines[k.frame]; h.Launch == launch && h.Flags == flags {
				break
			}
		}
		if k.frame == len(k.r.lines) {
			return nil, false, nil
		}
		if err := k.load(&k.r.lines[k.frame]); err != nil {
			return nil, false, err
		}
		k.frame++
	}
	if k.at > row {
		return nil, false, nil
	}
	k.held = false
	return k.line, true, nil
}

// load reads a frame of lines; one that is damaged has none.
func (k *keptLines) load(h *head) error {
	k.c = cursor{}
	raw, err := k.f.read(k.r, h, k.raw)
	if err == nil {
		k.raw = raw
		err = parseKeptLines(raw, h.Rows)
	}
	switch {
	case errors.Is(err, errRead):
		return err
	case err != nil:
		if !errors.Is(err, ErrCorrupt) {
			err = fmt.Errorf("%w: %w", ErrCorrupt, err)
		}
		k.r.note(h, err)
		return nil
	}
	k.c = cursor{b: raw}
	return nil
}

// keptLine reads one line and the number of rows before it.
func keptLine(c *cursor) (at uint64, line []byte) {
	at = c.uvarint()
	return at, c.take(c.uvarint())
}

// parseKeptLines checks the data of a frame of n lines.
func parseKeptLines(raw []byte, n uint32) error {
	c := cursor{b: raw}
	for range n {
		_, line := keptLine(&c)
		if c.bad {
			break
		}
		if len(line) > MaxLine || !validLine(string(line)) {
			return errors.New("a kept line that is no JSON object")
		}
	}
	return c.end()
}
