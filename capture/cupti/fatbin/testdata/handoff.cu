// Two small kernels with each kind of barrier instruction. What nvcc makes of
// them is test data: see generate.sh.
#include <cstdint>

// The barriers of relay are in functions that are inlined, one in the other.
static __device__ __forceinline__ void meet(int id) {
    asm volatile("bar.sync %0, 64;" ::"r"(id) : "memory");
}

static __device__ __forceinline__ void meetTwice() {
    meet(1);
    meet(2);
}

extern "C" __global__ void relay(int *out) {
    out[threadIdx.x] += 1;
    meetTwice();
    __syncthreads();
    out[threadIdx.x ^ 1] += 1;
}

extern "C" __global__ void handoff(int *out) {
    __shared__ alignas(8) uint64_t bar;
    __shared__ int box;
    uint32_t at = (uint32_t)__cvta_generic_to_shared(&bar);
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(at), "r"(32));
        box = out[0];
    }
    __syncthreads();
    if (threadIdx.x < 32) {
        asm volatile("bar.arrive 1, 64;" ::: "memory");
        uint64_t token;
        asm volatile("mbarrier.arrive.shared.b64 %0, [%1];" : "=l"(token) : "r"(at) : "memory");
        if (token == 1) box = 1;
    } else {
        asm volatile("bar.sync 1, 64;" ::: "memory");
#if __CUDA_ARCH__ >= 900
        uint32_t done = 0;
        while (!done) {
            asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                         : "=r"(done) : "r"(at), "r"(0) : "memory");
        }
#endif
    }
    __syncwarp();
    int n = __syncthreads_count(out[threadIdx.x] > 0);
    out[threadIdx.x] = box + n;
}
