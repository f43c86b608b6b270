package ptx

import "testing"

func TestReadable(t *testing.T) {
	for name, want := range map[string][2]string{
		"kernel":                          {"kernel", "kernel"},
		"_Z6kernelPfi":                    {"kernel(float*, int)", "kernel"},
		"_ZN3app6kernelIfLi4EEEvPT_":      {"void app::kernel<float, 4>(float*)", "kernel"},
		"_Z":                              {"_Z", "_Z"},
		"_ZN12_GLOBAL__N_16reduceEPKiS1_": {"(anonymous namespace)::reduce(int const*, int const*)", "reduce"},
		"triton_softmax_0d1d":             {"triton_softmax_0d1d", "triton_softmax_0d1d"},
	} {
		if got := [2]string{Readable(name), Short(name)}; got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}
