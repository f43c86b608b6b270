package trace

import (
	"errors"
	"fmt"
	"unicode/utf8"
)

// check reports what keeps a launch from being written as lines.
func (l *Launch) check() error {
	texts := append([]string{l.Kernel, l.Mangled, l.Program, l.Recorder, l.Device, l.Arch, string(l.Outcome)}, l.Observes...)
	n := len(l.Extra) + len(l.EndExtra)
	for _, s := range texts {
		if !utf8.ValidString(s) {
			return fmt.Errorf("the text %.40q is not UTF-8", s)
		}
		n += len(s)
	}
	if n > MaxLine/8 {
		return fmt.Errorf("its texts are longer than %d bytes", MaxLine/8)
	}
	for _, x := range []string{l.Extra, l.EndExtra} {
		if !validExtra([]byte(x)) {
			return errors.New("its extra keys are not the inside of a JSON object")
		}
	}
	return nil
}

// appendLaunch appends the launch line, without a newline. What a launch
// does not have is left out.
func appendLaunch(b []byte, l *Launch) []byte {
	b = append(b, `{"type":"launch","id":`...)
	b = appendUint(b, uint64(l.ID))
	for _, f := range l.texts() {
		if *f.to != "" {
			b = appendString(appendJSONKey(b, f.key), *f.to)
		}
	}
	for _, f := range l.dims() {
		if *f.to != (Dim{}) {
			b = append(appendJSONKey(b, f.key), '[')
			for i, x := range f.to {
				if i > 0 {
					b = append(b, ',')
				}
				b = appendUint(b, uint64(x))
			}
			b = append(b, ']')
		}
	}
	if l.Shared != 0 {
		b = appendUint(appendJSONKey(b, "shared"), uint64(l.Shared))
	}
	if l.Observes != nil {
		b = append(appendJSONKey(b, "observes"), '[')
		for i, o := range l.Observes {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendString(b, o)
		}
		b = append(b, ']')
	}
	return appendExtra(b, l.Extra)
}

// appendLaunchEnd appends the launch_end line, without a newline.
func appendLaunchEnd(b []byte, l *Launch) []byte {
	b = append(b, `{"type":"launch_end","launch":`...)
	b = appendUint(b, uint64(l.ID))
	b = appendString(appendJSONKey(b, "outcome"), string(l.Outcome))
	return appendExtra(b, l.EndExtra)
}

// appendExtra appends unknown keys and the end of the object.
func appendExtra(b []byte, extra string) []byte {
	if extra != "" {
		b = append(b, ',')
		b = append(b, extra...)
	}
	return append(b, '}')
}

type launchText struct {
	key string
	to  *string
}

// texts are the text keys of a launch line, in their order.
func (l *Launch) texts() [6]launchText {
	return [...]launchText{
		{"kernel", &l.Kernel}, {"mangled", &l.Mangled}, {"program", &l.Program},
		{"recorder", &l.Recorder}, {"device", &l.Device}, {"arch", &l.Arch},
	}
}

type launchDim struct {
	key string
	to  *Dim
}

func (l *Launch) dims() [3]launchDim {
	return [...]launchDim{{"grid", &l.Grid}, {"block", &l.Block}, {"cluster", &l.Cluster}}
}
