package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math/bits"
	"os"
	"strconv"
	"strings"

	"btrace/replay/report"
)

// maxShards is more than any scheduler's job array.
const maxShards = 1 << 20

// parseShard reads I/N.
func parseShard(s string) (report.Shard, error) {
	i, n, ok := strings.Cut(s, "/")
	index, err1 := strconv.ParseUint(i, 10, 32)
	of, err2 := strconv.ParseUint(n, 10, 32)
	switch {
	case !ok || err1 != nil || err2 != nil:
		return report.Shard{}, fmt.Errorf("--shard %s: want I/N, such as 2/8", s)
	case of < 1 || of > maxShards:
		return report.Shard{}, fmt.Errorf("--shard %s: want 1 to %d parts", s, maxShards)
	case index < 1:
		return report.Shard{}, fmt.Errorf("--shard %s: parts count from 1, so 1/%d to %d/%d (add 1 to a job's index that counts from 0)", s, of, of, of)
	case index > of:
		return report.Shard{}, fmt.Errorf("--shard %s: there are only %d parts", s, of)
	}
	return report.Shard{Index: uint32(index), Of: uint32(of)}, nil
}

// opening is what the opening of a file costs, in bytes that could be checked
// in that time.
const opening = 64 << 10

// shardOf is a part of the files, and a digest of all of them: parts belong
// together if their digests are the same. A part is a stretch of the list, so
// that the parts one after the other are the list; a file is in the part that
// its middle lies in when all files are laid end to end.
func shardOf(files []traceFile, s report.Shard) ([]traceFile, string) {
	list := sha256.New()
	weights := make([]uint64, len(files))
	var total uint64
	for i, f := range files {
		size := int64(0)
		if info, err := os.Stat(f.name); err == nil && f.err == nil {
			size = info.Size()
		}
		fmt.Fprintf(list, "%q %d\n", f.name, size)
		weights[i] = uint64(size) + opening
		total += weights[i]
	}
	var part []traceFile
	var before uint64
	for i, f := range files {
		hi, lo := bits.Mul64(2*before+weights[i], uint64(s.Of))
		in, _ := bits.Div64(hi, lo, 2*total)
		if in == uint64(s.Index)-1 {
			part = append(part, f)
		}
		before += weights[i]
	}
	return part, hex.EncodeToString(list.Sum(nil)[:8])
}
