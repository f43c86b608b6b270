package arith

import (
	"strings"
	"testing"
)

// What a lane of an instruction costs: 32 of them at a time, as the
// interpreter calls them.
func BenchmarkLane(b *testing.B) {
	for _, name := range []string{
		"add.s32", "mad.lo.s32", "mul.wide.u32", "add.s64", "and.b32", "shl.b32", "shr.u32", "lop3.b32", "prmt.b32", "bfe.u32",
		"min.s32", "setp.lt.s32", "setp.lt.f32", "selp.b32", "cvt.u64.u32", "cvt.s64.s32", "cvt.rn.f32.s32", "cvt.rzi.s32.f32",
		"add.f32", "fma.rn.f32", "add.ftz.f32", "mul.ftz.f32", "fma.rn.ftz.f32", "max.f32", "neg.f32", "div.rn.f32",
		"add.rz.f32", "add.f64", "fma.rn.f64", "fma.rz.f64", "add.f16x2", "fma.rn.f16x2", "fma.rn.bf16x2",
		"cvt.rn.f16.f32", "cvt.rn.f16x2.f32", "cvt.f32.f16", "ex2.approx.ftz.f32", "sqrt.approx.f32",
	} {
		parts := strings.Split(name, ".")
		op, err := Lookup(parts[0], parts[1:])
		if err != nil {
			b.Fatal(err)
		}
		b.Run(name, func(b *testing.B) {
			var d, x, y, z [32]uint64
			o := newOperands()
			for i := range x {
				for k, v := range []*[32]uint64{&x, &y, &z} {
					if k < len(op.Src) && op.Src[k] != Pred {
						v[i] = slotFor(parts[0], op, k).value(o, uint64(16001+i*67))
					}
				}
			}
			b.ReportAllocs()
			lanes := 0
			for b.Loop() {
				switch {
				case op.Test != nil:
					for i := range d {
						d[i] = bit(op.Test(x[i], y[i]))
					}
				case op.F1 != nil:
					for i := range d {
						d[i] = op.F1(x[i])
					}
				case op.F2 != nil:
					for i := range d {
						d[i] = op.F2(x[i], y[i])
					}
				case op.F3 != nil:
					for i := range d {
						d[i] = op.F3(x[i], y[i], z[i])
					}
				case op.F4 != nil:
					for i := range d {
						d[i] = op.F4(x[i], y[i], z[i], 0xca)
					}
				}
				lanes += len(d)
			}
			b.ReportMetric(b.Elapsed().Seconds()*1e9/float64(lanes), "ns/lane")
			b.ReportMetric(0, "ns/op")
		})
	}
}
