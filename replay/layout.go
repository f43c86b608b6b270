package replay

import (
	"slices"

	"btrace/trace"
)

// layout says which CTAs are replayed together: those of a cluster, or all of
// the launch. A scope is named by its number, that of its cluster.
type layout struct {
	grid, cluster trace.Dim // no extent is zero
	ctas          uint64
	whole         bool // the launch is one scope
}

func newLayout(l *trace.Launch) layout {
	y := layout{grid: l.Grid, cluster: l.Cluster, ctas: l.CTAs()}
	for i := range 3 {
		y.grid[i], y.cluster[i] = max(y.grid[i], 1), max(y.cluster[i], 1)
	}
	return y
}

// scopes is the number of scopes.
func (y *layout) scopes() uint64 {
	if y.whole {
		return 1
	}
	n := uint64(1)
	for i := range 3 {
		n *= (uint64(y.grid[i]) + uint64(y.cluster[i]) - 1) / uint64(y.cluster[i])
	}
	return n
}

// scope is the number of the scope of a CTA.
func (y *layout) scope(cta uint32) uint32 {
	if y.whole {
		return 0
	}
	return y.clusterNumber(cta)
}

func (y *layout) clusterNumber(cta uint32) uint32 {
	c, g := y.cluster, y.grid
	switch {
	case c == trace.Dim{1, 1, 1}:
		return cta
	case c[1] == 1 && c[2] == 1 && g[0]%c[0] == 0:
		return cta / c[0]
	}
	across := (g[0] + c[0] - 1) / c[0]
	down := (g[1] + c[1] - 1) / c[1]
	x, yy, z := cta%g[0]/c[0], cta/g[0]%g[1]/c[1], cta/g[0]/g[1]/c[2]
	return (z*down+yy)*across + x
}

// members lists the CTAs of a scope by their rank; nil means all of the
// launch.
func (y *layout) members(scope uint32) []uint32 { return y.membersIn(scope, nil) }

// membersIn lists them in the memory of others.
func (y *layout) membersIn(scope uint32, out []uint32) []uint32 {
	if y.whole {
		return nil
	}
	c, g := y.cluster, y.grid
	across := (g[0] + c[0] - 1) / c[0]
	down := (g[1] + c[1] - 1) / c[1]
	x0, y0, z0 := scope%across*c[0], scope/across%down*c[1], scope/across/down*c[2]
	for z := z0; z < min(z0+c[2], g[2]); z++ {
		for yy := y0; yy < min(y0+c[1], g[1]); yy++ {
			for x := x0; x < min(x0+c[0], g[0]); x++ {
				out = append(out, (z*g[1]+yy)*g[0]+x)
			}
		}
	}
	return out
}

// clusterOf lists the CTAs of a CTA's cluster by their rank.
func (y *layout) clusterOf(cta uint32) []uint32 {
	one := *y
	one.whole = false
	return one.members(y.clusterNumber(cta))
}

// has reports whether a CTA belongs to the scope.
func (s *scope) has(cta uint32) bool {
	if s.members == nil {
		return uint64(cta) < s.layout.ctas
	}
	return slices.Contains(s.members, cta)
}

// size is the number of CTAs of the scope.
func (s *scope) size() uint64 {
	if s.members == nil {
		return s.layout.ctas
	}
	return uint64(len(s.members))
}
