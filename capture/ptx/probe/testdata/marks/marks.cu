// Every function of btrace.cuh. marks.ptx is what nvcc 13.0 makes of it:
//
//	nvcc -arch=sm_90 -ptx marks.cu -o marks.ptx
#include "../../../../cupti/native/btrace.cuh"

extern "C" __global__ void k(unsigned *out) {
  __shared__ unsigned long long bar;
  unsigned round = out[0];
  if (threadIdx.x == 0) btrace::barrier_init(&bar, blockDim.x);
  __syncthreads();
  btrace::mark("here");
  btrace::barrier_arrive(&bar, round);
  btrace::completion_begin(&bar);
  btrace::completion_end(&bar);
  btrace::barrier_wait(&bar, round);
  btrace::barrier_done(&bar, round);
  btrace::group_arrive("tiles", round + 1, 32);
  btrace::group_wait("tiles", round + 1);
  btrace::group_done("tiles", round + 1);
  btrace::group_arrive("grid", round);
  btrace::barrier_arrive(out, round);
}
