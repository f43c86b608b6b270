package probe

import (
	"fmt"
	"strings"
)

// A warp is off if there is no ring, or if its CTA or it is not among those to
// record: for all of the kernel, and so its probes are jumped over.

// off finds out whether the warp is off. Whether it is chosen is code that few
// recordings need: it stands at the end of the function.
func (p *probe) off() {
	ld := "ld." + p.control
	p.emit("%s.u64 %%bt_x, [%s];", ld, ControlName)
	p.emit("setp.eq.u64 %%bt_off, %%bt_x, 0;")
	p.emit("%s.u32 %%bt_t, [%s+20];", ld, ControlName)
	p.emit("and.b32 %%bt_t, %%bt_t, %d;", flagChosen)
	p.emit("setp.ne.u32 %%bt_q, %%bt_t, 0;")
	p.emit("@%%bt_q bra.uni $bt_C;")
	p.emit("$bt_D:")
	if p.rare != "" {
		p.emit(".pragma \"frequency 1000\";")
	}
	p.emit("activemask.b32 %%bt_m;")
	p.emit("vote.sync.ballot.b32 %%bt_t, %%bt_off, %%bt_m;")
	p.emit("setp.ne.u32 %%bt_off, %%bt_t, 0;")
	p.coldAt(p.f.Body).WriteString(p.chosen())
}

// chosen is the block that says whether a warp is among those to record. A
// cluster is recorded if any of its CTAs is to be. Where the CTAs of a cluster
// are not neighbours in the grid it may be recorded without need: whoever reads
// the records has to look, too.
func (fn *function) chosen() string {
	cluster := ""
	if v := fn.m.Version; archNumber(fn.out.Arch) >= 90 && (v[0] > 7 || v[0] == 7 && v[1] >= 8) {
		var b strings.Builder
		for i, reg := range []string{"u", "v", "k"} {
			d := "xyz"[i]
			fmt.Fprintf(&b, `	mov.u32 %%bt_z, %%cluster_ctaid.%[1]c;
	mov.b64 {%%bt_i, %%bt_j}, %%bt_%[2]s;
	sub.u32 %%bt_i, %%bt_i, %%bt_z;
	mov.u32 %%bt_z, %%cluster_nctaid.%[1]c;
	add.u32 %%bt_j, %%bt_i, %%bt_z;
	sub.u32 %%bt_j, %%bt_j, 1;
	mov.b64 %%bt_%[2]s, {%%bt_i, %%bt_j};
`, d, reg)
		}
		cluster = b.String()
	}
	return strings.NewReplacer("CLUSTER", cluster, "CTL", ControlName, "SPACE", fn.control, "RARE", fn.rare).Replace(chosenText)
}

// flagChosen in the control block says that only some CTAs and warps are to be
// recorded.
const flagChosen = 2

// u, v and k are the first and the last CTA of the cluster in x, y and z; a and
// o their linear indices.
const chosenText = `$bt_C:RARE
	mov.u32 %bt_i, %ctaid.x;
	mov.b64 %bt_u, {%bt_i, %bt_i};
	mov.u32 %bt_i, %ctaid.y;
	mov.b64 %bt_v, {%bt_i, %bt_i};
	mov.u32 %bt_i, %ctaid.z;
	mov.b64 %bt_k, {%bt_i, %bt_i};
CLUSTER	mov.b64 {%bt_a, %bt_o}, %bt_k;
	mov.u32 %bt_z, %nctaid.y;
	mov.b64 {%bt_i, %bt_j}, %bt_v;
	mad.lo.u32 %bt_a, %bt_a, %bt_z, %bt_i;
	mad.lo.u32 %bt_o, %bt_o, %bt_z, %bt_j;
	mov.u32 %bt_z, %nctaid.x;
	mov.b64 {%bt_i, %bt_j}, %bt_u;
	mad.lo.u32 %bt_a, %bt_a, %bt_z, %bt_i;
	mad.lo.u32 %bt_o, %bt_o, %bt_z, %bt_j;
	ld.SPACE.u32 %bt_i, [CTL+40];
	ld.SPACE.u32 %bt_j, [CTL+44];
	setp.lt.or.u32 %bt_off, %bt_o, %bt_i, %bt_off;
	setp.gt.or.u32 %bt_off, %bt_a, %bt_j, %bt_off;
	mov.u32 %bt_i, %tid.z;
	mov.u32 %bt_z, %ntid.y;
	mov.u32 %bt_j, %tid.y;
	mad.lo.u32 %bt_i, %bt_i, %bt_z, %bt_j;
	mov.u32 %bt_z, %ntid.x;
	mov.u32 %bt_j, %tid.x;
	mad.lo.u32 %bt_a, %bt_i, %bt_z, %bt_j;
	shr.u32 %bt_a, %bt_a, 5;
	ld.SPACE.u32 %bt_i, [CTL+48];
	ld.SPACE.u32 %bt_j, [CTL+52];
	setp.lt.or.u32 %bt_off, %bt_a, %bt_i, %bt_off;
	setp.gt.or.u32 %bt_off, %bt_a, %bt_j, %bt_off;
	bra.uni $bt_D;
`
