package emu

import "btrace/trace"

// The barrier of a cluster: PTX ISA, "barrier.cluster". All threads of the
// cluster that have not exited take part.

// ClusterArrive is barrier.cluster.arrive.
//
//go:noinline
func (t *Thread) ClusterArrive() {
	t.here()
	t.do(op{kind: trace.KindClusterArrive})
}

// ClusterWait is barrier.cluster.wait.
//
//go:noinline
func (t *Thread) ClusterWait() {
	t.here()
	t.do(op{kind: trace.KindClusterWait})
}

// ClusterSync is cluster.sync(): arrive and wait.
//
//go:noinline
func (t *Thread) ClusterSync() {
	t.here()
	t.do(op{kind: trace.KindClusterArrive})
	t.do(op{kind: trace.KindClusterWait})
}
