// Package cupti records the barriers of CUDA programs on real GPUs.
//
// It is the recorder's side: it starts the application with the injection
// library of capture/cupti/native, answers what that asks (which code to load
// in place of the program's own), reads the records that the instrumented
// kernels write to shared memory, and writes them as a trace.
//
// It makes no CUDA call itself: everything that touches a GPU happens in the
// application. What a record means is capture/ptx/probe's to say, how it lies
// in memory capture/cupti/ring's.
package cupti
