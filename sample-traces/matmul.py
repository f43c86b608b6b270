# matmul.py N [ROUNDS [TILE]] multiplies two matrices with a Triton kernel, and says how long the fastest took.
import sys, torch, triton, triton.language as tl

@triton.jit
def matmul(a, b, c, n, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, n, BK):
        x = tl.load(a + rm[:, None] * n + (k + rk)[None, :])
        y = tl.load(b + (k + rk)[:, None] * n + rn[None, :])
        acc += tl.dot(x, y)
    tl.store(c + rm[:, None] * n + rn[None, :], acc.to(tl.float16))

n = int(sys.argv[1])
rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 0
tile = int(sys.argv[3]) if len(sys.argv) > 3 else 64
a, b = (torch.randn(n, n, device='cuda').to(torch.float16) for _ in range(2))
c = torch.empty(n, n, device='cuda', dtype=torch.float16)
best = 1e30
for i in range(rounds + 1):
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record()
    matmul[(n // tile, n // tile)](a, b, c, n, tile, tile, tile // 2, num_stages=3, num_warps=tile // 16)
    end.record()
    torch.cuda.synchronize()
    if i > 0 or rounds == 0:
        best = min(best, begin.elapsed_time(end))
want = a.float() @ b.float()
print(f'matmul {n}: {best:.3f} ms, largest error {(c.float() - want).abs().max().item() / want.abs().max().item():.5f}')
