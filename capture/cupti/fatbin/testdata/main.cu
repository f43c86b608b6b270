// A program of two files: its image is several containers, or is linked.
extern "C" __global__ void handoff(int *out);
__global__ void second(float *p) { __syncthreads(); p[threadIdx.x] *= 2; }

int main() {
    float *p;
    cudaMalloc(&p, 256);
    second<<<1, 64>>>(p);
    handoff<<<1, 64>>>((int *)p);
    return cudaDeviceSynchronize();
}
