package trace

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// columnsOf is a payload of columns that are no events.
func columnsOf(cols map[columnID][]byte) (payload []byte) {
	for id := range columnID(numColumns) {
		payload = appendColumn(payload, id, cols[id])
	}
	return payload
}

// noiseBytes is n bytes below limit, of which small ones are more frequent.
func noiseBytes(n, limit int) []byte {
	rng := rand.New(rand.NewPCG(uint64(n), uint64(limit)))
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(min(rng.IntN(limit), rng.IntN(limit)))
	}
	return b
}

// Whatever the columns are, a frame is one that every zstd decoder takes.
func TestPackedBlocks(t *testing.T) {
	same := func(n int, v byte) []byte { return bytes.Repeat([]byte{v}, n) }
	pattern := func(n int) []byte { return bytes.Repeat([]byte("wait, done, arrive; "), n/20) }
	file := []byte{}
	var want []byte
	for name, cols := range map[string]map[columnID][]byte{
		"no noise":             {colOp: pattern(60_000), colTime: pattern(60_000)},
		"noise at the end":     {colOp: pattern(60_000), colTime: noiseBytes(65_000, 200), colClk: noiseBytes(130_000, 12), colToken: noiseBytes(20_000, 22)},
		"noise in between":     {colOp: pattern(60_000), colTime: noiseBytes(65_000, 200), colPhase: pattern(60_000), colClk: noiseBytes(65_537, 12)},
		"incompressible":       {colOp: pattern(300_000), colTime: noiseBytes(65_000, 200), colClk: noiseBytes(300_000, 256)},
		"one value":            {colOp: pattern(60_000), colTime: noiseBytes(9000, 30), colClk: same(70_000, 3)},
		"noise, then the same": {colOp: pattern(60_000), colTime: append(noiseBytes(64<<10, 30), same(64<<10, 7)...)},
		"a short rest":         {colOp: pattern(60_000), colTime: noiseBytes(64<<10+1, 30), colClk: noiseBytes(64<<10+7, 9)},
		"noise alone":          {colTime: noiseBytes(65_000, 200)},
		"little":               {colOp: {1}, colTime: {1, 0, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			zenc, err := newEncoder(false)
			must(t, err)
			p := packer{zenc: zenc}
			payload := columnsOf(cols)
			frame, err := p.packBlock(nil, payload)
			must(t, err)
			var h zstd.Header
			must(t, h.Decode(frame))
			if h.HasFCS && h.FrameContentSize != uint64(len(payload)) || !h.HasCheckSum {
				t.Errorf("the frame's head is %+v", h)
			}
			z, err := zstd.NewReader(nil)
			must(t, err)
			defer z.Close()
			got, err := z.DecodeAll(frame, nil)
			if err != nil || !bytes.Equal(got, payload) {
				t.Fatalf("%d bytes of %d are decoded: %v", len(got), len(payload), err)
			}
			frame[len(frame)-1] ^= 1
			if _, err := z.DecodeAll(frame, nil); err == nil {
				t.Error("a wrong checksum is taken")
			}
			frame[len(frame)-1] ^= 1
			file, want = append(file, frame...), append(want, payload...)
		})
	}
	if tool, err := exec.LookPath("zstd"); err == nil {
		out, err := exec.Command(tool, "-dc", writeFile(t, file)).Output()
		if err != nil || !bytes.Equal(out, want) {
			t.Errorf("zstd -dc: %v, %d bytes, want %d", err, len(out), len(want))
		}
	}
}

// What repeats is looked for, and noise costs no more than if it were.
func TestPackedSize(t *testing.T) {
	zenc, err := newEncoder(false)
	must(t, err)
	p := packer{zenc: zenc}
	times := bytes.Repeat([]byte{12, 7, 30, 255, 9}, 13_000)
	for i, cols := range []map[columnID][]byte{
		{colOp: times, colTime: times, colClk: times},
		{colOp: times, colTime: times, colClk: noiseBytes(65_000, 10)},
		{colOp: times, colTime: noiseBytes(65_000, 220), colClk: noiseBytes(65_000, 10)},
	} {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			payload := columnsOf(cols)
			frame, err := p.packBlock(nil, payload)
			must(t, err)
			if most := len(zenc.EncodeAll(payload, nil)); len(frame) > most+16 {
				t.Errorf("%d bytes, want at most %d", len(frame), most)
			}
		})
	}
}
