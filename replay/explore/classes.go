package explore

// Classes tells which lanes of a warp do everything together, in all that is
// to be followed. They have one history in every schedule.
//
// It has to be known from the beginning: that lanes did the first half of a
// run together, each at a time of its own, does not mean that one of them
// knows of the others when they part.
type Classes struct {
	warps [][]uint32 // by the warp's number in its CTA: the masks, of all CTAs alike
	last  uint32     // looked at last
	warp  uint32
}

// Add says that lanes of a warp did something that its others did not.
func (c *Classes) Add(warp, lanes uint32) {
	if lanes == ^uint32(0) || lanes == c.last && warp == c.warp {
		return
	}
	c.last, c.warp = lanes, warp
	for uint32(len(c.warps)) <= warp {
		c.warps = append(c.warps, []uint32{^uint32(0)})
	}
	list := c.warps[warp]
	if len(list) == 32 {
		return
	}
	for i := range list {
		if both := list[i] & lanes; both != 0 && both != list[i] {
			list = append(list, list[i]&^both)
			list[i] = both
		}
	}
	c.warps[warp] = list
}

// of is the classes of a warp.
func (c *Classes) of(warp uint32) []uint32 {
	if c == nil || uint32(len(c.warps)) <= warp {
		return []uint32{^uint32(0)}
	}
	return c.warps[warp]
}
