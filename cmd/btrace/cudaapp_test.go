//go:build linux

package main

import (
	"fmt"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"btrace/capture/cupti"
	"btrace/capture/cupti/ring/ringtest"
	"btrace/capture/ptx/probe"
	"btrace/trace"
)

// handoff is the kernel of cudaapp: one warp arrives where the other waits.
const handoff = `.version 8.0
.target sm_90
.address_size 64
.visible .entry handoff()
{
	.reg .pred %p<2>;
	.reg .b32 %r<2>;
	mov.u32 %r1, %tid.x;
	setp.lt.u32 %p1, %r1, 32;
	@%p1 bra FIRST;
	bar.sync 1, 64;
	ret;
FIRST:
	bar.arrive 1, 64;
	ret;
}
`

// cudaapp is a program for the scripts that does what a program with a GPU
// would: it says so to the recorder, and writes what its kernel would. Its
// arguments are the launches: "clean" or "hang", or an exit status.
func cudaapp() {
	if err := runCudaapp(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "cudaapp:", err)
		os.Exit(100)
	}
}

func runCudaapp(launches []string) error {
	l, err := cupti.Dial(os.Getenv(cupti.EnvSocket))
	if err != nil {
		return err
	}
	ask := func(m cupti.Message, f *os.File) (cupti.Message, *os.File, error) {
		if err := l.Send(m, f); err != nil {
			return nil, nil, err
		}
		return l.Receive()
	}
	if _, _, err := ask(&cupti.Hello{Version: cupti.ProtocolVersion, Role: cupti.RoleCUPTI, Program: "cudaapp"}, nil); err != nil {
		return err
	}
	m, mem, err := ask(&cupti.Context{Context: 1, Major: 9, Registers: 65536, ClockKHz: 2_000_000, Name: "Fake GPU"}, nil)
	if err != nil {
		return err
	}
	bytes, err := unix.Mmap(int(mem.Fd()), 0, int(m.(*cupti.Ring).Size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return err
	}
	gpu := ringtest.New(bytes)
	gpu.Start = time.Now()
	image, err := os.CreateTemp("", "cudaapp")
	if err != nil {
		return err
	}
	os.Remove(image.Name())
	if _, err := image.WriteString(handoff); err != nil {
		return err
	}
	m, _, err = ask(&cupti.Image{Context: 1, Door: cupti.DoorModuleLoadData, Size: uint64(len(handoff)), Name: "handoff.ptx"}, image)
	if err != nil {
		return err
	}
	answer := m.(*cupti.Answer)
	p, err := probe.Rewrite([]byte(handoff), probe.Options{File: "handoff.ptx", Base: probe.FirstSite, Module: answer.Module})
	if err != nil {
		return err
	}
	sites := make(map[trace.Kind]uint32)
	for _, s := range p.Sites {
		if !s.Short {
			sites[s.Op.Kind] = s.Number
		}
	}
	for i, what := range launches {
		if code, err := strconv.Atoi(what); err == nil {
			os.Exit(code)
		}
		n := uint64(i + 1)
		dims := [3]uint32{64, 1, 1}
		if err := l.Send(&cupti.Launch{Correlation: n, Module: answer.Module, Context: 1, Grid: [3]uint32{1, 1, 1}, Block: dims, Function: "handoff"}, nil); err != nil {
			return err
		}
		first, second := gpu.Lane(n, 0, 0, 0, 0), gpu.Lane(n, 0, 1, 0, 0)
		do := func(lane *ringtest.Lane, k trace.Kind, operand uint32) {
			if answer.Action == cupti.ActionReplace {
				lane.Record(sites[k], operand, 1<<32-1)
			}
		}
		do(first, trace.KindEnter, 0)
		do(second, trace.KindEnter, 0)
		do(second, trace.KindBarSync, 1|64<<15)
		if what == "clean" {
			do(first, trace.KindBarArrive, 1|64<<15)
			do(second, trace.KindBarDone, 1)
		}
		do(first, trace.KindExit, 0)
		first.Close()
		if what == "hang" {
			select {}
		}
		do(second, trace.KindExit, 0)
		second.Close()
		if err := l.Send(&cupti.Done{Correlation: n, GridID: n, Start: 1, End: 2, Context: 1, Grid: [3]uint32{1, 1, 1}, Block: dims, Function: "handoff"}, nil); err != nil {
			return err
		}
	}
	return l.Send(&cupti.Bye{}, nil)
}
