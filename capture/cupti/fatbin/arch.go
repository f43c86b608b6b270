package fatbin

import (
	"fmt"
	"strconv"
	"strings"
)

// Arch is a target of compilation, or a device's compute capability (without
// a suffix).
type Arch struct {
	Major, Minor int
	// Suffix is 'a' for code of exactly this device, 'f' for code of its
	// family, or 0.
	Suffix byte
}

// String is the target's name: "sm_90a".
func (a Arch) String() string {
	s := fmt.Sprintf("sm_%d%d", a.Major, a.Minor)
	if a.Suffix != 0 {
		s += string(a.Suffix)
	}
	return s
}

// ParseArch reads a target's name: "sm_90a", "compute_100f".
func ParseArch(s string) (Arch, error) {
	digits, ok := strings.CutPrefix(s, "sm_")
	if !ok {
		digits, ok = strings.CutPrefix(s, "compute_")
	}
	var a Arch
	if n := len(digits); n > 0 && (digits[n-1] == 'a' || digits[n-1] == 'f') {
		a.Suffix, digits = digits[n-1], digits[:n-1]
	}
	n, err := strconv.ParseUint(digits, 10, 16)
	if !ok || err != nil || n < 10 || digits[0] == '+' {
		return Arch{}, fmt.Errorf("the target %q: want one like sm_90 or sm_90a", s)
	}
	a.Major, a.Minor = int(n/10), int(n%10)
	return a, nil
}

// runsOn reports whether machine code for a runs on the device. Code runs on
// devices of its major version and a minor version that is not lower; with the
// suffix a only on its own. For the suffix f, a family is the devices of one
// major version.
func (a Arch) runsOn(device Arch) bool {
	if a.Suffix == 'a' {
		return a.Major == device.Major && a.Minor == device.Minor
	}
	return a.Major == device.Major && a.Minor <= device.Minor
}

// compilesFor reports whether the driver can compile PTX for a for the
// device. PTX without a suffix goes for every later device too.
func (a Arch) compilesFor(device Arch) bool {
	return a.runsOn(device) || a.Suffix == 0 && a.Major < device.Major
}

// before orders the targets that one device can run, the one that the driver
// prefers last: the nearest to the device, and of those the most specific.
func (a Arch) before(b Arch) bool {
	if a.Major != b.Major {
		return a.Major < b.Major
	}
	if a.Minor != b.Minor {
		return a.Minor < b.Minor
	}
	return rank(a.Suffix) < rank(b.Suffix)
}

func rank(suffix byte) int { return strings.IndexByte("\x00fa", suffix) }
