package trace

import (
	"testing"

	"pgregory.net/rapid"
)

func TestKindsAndOperandsHaveNames(t *testing.T) {
	for i, s := range Kinds() {
		if int(s.Kind) != i || s.Kind.Spec().Name != s.Name || s.Doc == "" {
			t.Errorf("row %d of the event table is of %v", i, s.Kind)
		}
		k, ok := ParseKind(s.Name)
		if ok != (s.Kind != KindUnknown) || ok && (k != s.Kind || k.String() != s.Name) {
			t.Errorf("%q is parsed as %v", s.Name, k)
		}
	}
	seen := Fields(0)
	for _, s := range Operands() {
		if seen.Has(s.Field) || s.Field.Spec().Key != s.Key || s.Doc == "" {
			t.Errorf("operand %v", s.Field)
		}
		seen = seen.With(s.Field)
		if f, ok := ParseField(s.Key); s.Key != "" && (!ok || f != s.Field || f.String() != s.Key) {
			t.Errorf("%q is parsed as %v", s.Key, f)
		}
	}
	if seen != 1<<NumFields-1 {
		t.Errorf("the operand table has %x", seen)
	}
	for _, got := range []string{Kind(99).String(), Kind(99).Spec().Name, Field(99).String(), Field(99).Spec().Key, KindUnknown.String(), Red(9).String()} {
		switch got {
		case "kind(99)", "", "field(99)", "unknown", "9":
		default:
			t.Errorf("%q", got)
		}
	}
}

func TestWordsComeBack(t *testing.T) {
	for r := RedPopc; r <= RedOr; r++ {
		if got, ok := ParseRed(r.String()); !ok || got != r {
			t.Errorf("%v", r)
		}
	}
	for s := SemRelaxed; s <= SemAcqRel; s++ {
		if got, ok := ParseSem(s.String()); !ok || got != s {
			t.Errorf("%v", s)
		}
	}
	if _, ok := ParseRed(""); ok {
		t.Error("no reduction is one")
	}
	if _, ok := ParseSem("seq_cst"); ok {
		t.Error("seq_cst")
	}
}

func TestBarrierNamesComeBack(t *testing.T) {
	for _, s := range []string{"bar:3", "mbar:0x1420", "cluster", "group:tile<32>", "warp:7"} {
		b, err := ParseBarrier(s)
		if err != nil || b.String() != s {
			t.Errorf("%s: %v %v", s, b, err)
		}
	}
	for _, s := range []string{"", "bar", "bar:x", "mbar:", "warp:-1", "tree:1"} {
		if b, err := ParseBarrier(s); err == nil {
			t.Errorf("%q is %v", s, b)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		op := anyOp().Draw(t, "op")
		b := op.Barrier(rapid.Uint32().Draw(t, "warp"))
		if b.Kind == BarrierNone {
			if b.String() != "" {
				t.Fatal(b)
			}
			return
		}
		if got, err := ParseBarrier(b.String()); err != nil || got != b {
			t.Fatalf("%v is parsed as %v: %v", b, got, err)
		}
	})
}

func TestLaunchShape(t *testing.T) {
	l := Launch{Grid: Dim{4, 2, 1}, Block: Dim{40, 1, 1}, Cluster: Dim{2, 0, 0}, Outcome: "trap:assert"}
	if l.CTAs() != 8 || l.Threads() != 40 || l.Warps() != 2 || l.ClusterSize() != 2 {
		t.Errorf("%d CTAs, %d threads, %d warps, cluster of %d", l.CTAs(), l.Threads(), l.Warps(), l.ClusterSize())
	}
	if why, ok := l.Outcome.Trap(); !ok || why != "assert" {
		t.Errorf("%q %v", why, ok)
	}
	if !l.Sees(FamilyMbar) {
		t.Error("a recording that does not say sees everything")
	}
	l.Observes = []string{"bar"}
	if l.Sees(FamilyMbar) || !l.Sees(FamilyBar) || !l.Sees(FamilyOther) {
		t.Error("observes bar only")
	}
	o := Op{Kind: KindMbarArrive, Owner: 3}
	if o.OwnerCTA(1) != 1 {
		t.Error("a local operation has another owner")
	}
	o.Has = o.Has.With(FieldOwnerCTA)
	if o.OwnerCTA(1) != 3 {
		t.Error("a remote operation has no other owner")
	}
}
