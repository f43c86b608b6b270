package cupti

import (
	"bytes"
	"reflect"
	"strings"
	"testing"
)

// messages is one of each type, in the order of their numbers, with every
// field set.
var messages = []Message{
	&Hello{1, RoleCUPTI, 77, 13000, "./app"},
	&Welcome{1, 2, "why not"},
	&Context{1, 2, 9, 0, 132, 2048, 65536, 1980000, "NVIDIA H100"},
	&Ring{1, 1, 1 << 29, "none"},
	&Image{1, DoorLinkAddFile, 1 << 20, "k.cubin"},
	&Answer{ActionReplace, 1 << 40, 4096, "because"},
	&Module{1 << 40, 1, 2, "CUDA_ERROR_INVALID_VALUE"},
	&Launch{1, 2, 3, 4, 5, LaunchCooperative, [3]uint32{6, 7, 8}, [3]uint32{9, 10, 11}, [3]uint32{12, 13, 14}, 15, "_Z1kv"},
	&Done{1, 2, 3, 4, 5, [3]uint32{6, 7, 8}, [3]uint32{9, 10, 11}, [3]uint32{12, 13, 14}, 15, 16, "_Z1kv"},
	&Failed{1, 2, 719, "CUDA_ERROR_LAUNCH_FAILED"},
	&Bye{},
	&Note{"a line"},
}

func TestMessagesRoundTrip(t *testing.T) {
	for i, m := range messages {
		b := AppendMessage([]byte("before"), m)[6:]
		if b[4] != byte(i+1) {
			t.Errorf("%T has type %d, want %d", m, b[4], i+1)
		}
		got, err := ParseMessage(b)
		if err != nil || !reflect.DeepEqual(got, m) {
			t.Errorf("%+v came back as %+v, %v", m, got, err)
		}
	}
}

// The layout is what the library is written against: it must not change
// unnoticed.
func TestMessageLayout(t *testing.T) {
	for _, c := range []struct {
		m    Message
		want string
	}{
		{&Failed{0x0102030405060708, 0x11121314, 0x21222324, "AB"}, "\x16\x00\x00\x00\x0a\x00\x00\x00" +
			"\x08\x07\x06\x05\x04\x03\x02\x01" + "\x14\x13\x12\x11" + "\x24\x23\x22\x21" + "\x02\x00\x00\x00AB"},
		{&Bye{}, "\x00\x00\x00\x00\x0b\x00\x00\x00"},
		{&Ring{1, 2, 3, ""}, "\x14\x00\x00\x00\x04\x00\x00\x00" + "\x01\x00\x00\x00\x02\x00\x00\x00" + "\x03\x00\x00\x00\x00\x00\x00\x00" + "\x00\x00\x00\x00"},
	} {
		if got := AppendMessage(nil, c.m); string(got) != c.want {
			t.Errorf("%+v: got %x, want %x", c.m, got, c.want)
		}
	}
}

func TestHostileMessages(t *testing.T) {
	good := AppendMessage(nil, messages[9])
	long := AppendMessage(nil, &Note{strings.Repeat("x", maxText)})
	for name, b := range map[string][]byte{
		"nothing":       {},
		"half a header": good[:7],
		"cut":           good[:len(good)-1],
		"too long":      append(bytes.Clone(good), 0),
		"unknown type":  {0, 0, 0, 0, 99, 0, 0, 0},
		"long text":     bytes.Replace(long, []byte{0, 0x80, 0, 0}, []byte{1, 0x80, 0, 0}, 1),
		"short text":    {8, 0, 0, 0, 12, 0, 0, 0, 1, 0, 0, 0, 'a', 'b', 'c', 'd'},
		"huge text":     {4, 0, 0, 0, 12, 0, 0, 0, 0xff, 0xff, 0xff, 0xff},
	} {
		if m, err := ParseMessage(b); err == nil {
			t.Errorf("%s: %+v", name, m)
		}
	}
	if got, err := ParseMessage(AppendMessage(nil, &Note{strings.Repeat("x", maxText+5)})); err != nil || len(got.(*Note).Text) != maxText {
		t.Errorf("a text that is too long is not cut: %v", err)
	}
}

func FuzzParseMessage(f *testing.F) {
	for _, m := range messages {
		f.Add(AppendMessage(nil, m))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := ParseMessage(b)
		if err != nil {
			return
		}
		if again := AppendMessage(nil, m); !bytes.Equal(again, b) {
			t.Errorf("%+v is %x, and was %x", m, again, b)
		}
	})
}
