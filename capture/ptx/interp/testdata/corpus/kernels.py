# Triton kernels; run with a folder's name, it compiles them on the GPU that is
# there, checks them, and writes their PTX to that folder. What a launch needs
# is printed: entry, warps, shared memory, parameters.
import re
import sys

import torch
import triton
import triton.language as tl


@triton.jit
def vector_add(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    tl.store(out + at, tl.load(x + at, mask=inside) + tl.load(y + at, mask=inside), mask=inside)


@triton.jit
def row_sum(x, out, stride, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    tl.store(out + row, tl.sum(tl.load(x + row * stride + at, mask=at < columns, other=0.0), axis=0))


@triton.jit
def softmax(x, out, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    v = tl.load(x + row * columns + at, mask=at < columns, other=-float("inf"))
    e = tl.exp(v - tl.max(v, axis=0))
    tl.store(out + row * columns + at, e / tl.sum(e, axis=0), mask=at < columns)


@triton.jit
def layer_norm(x, weight, bias, out, columns, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    inside = at < columns
    v = tl.load(x + row * columns + at, mask=inside, other=0.0)
    mean = tl.sum(v, axis=0) / columns
    d = tl.where(inside, v - mean, 0.0)
    scale = 1 / tl.sqrt(tl.sum(d * d, axis=0) / columns + eps)
    tl.store(out + row * columns + at, d * scale * tl.load(weight + at, mask=inside) + tl.load(bias + at, mask=inside), mask=inside)


@triton.jit
def scan_rows(x, out, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.cumsum(tl.load(x + at), axis=0))


@triton.jit
def matmul(a, b, c, m, n, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    row = tl.program_id(0) * M + tl.arange(0, M)
    col = tl.program_id(1) * N + tl.arange(0, N)
    step = tl.arange(0, K)
    pa = a + row[:, None] * k + step[None, :]
    pb = b + step[:, None] * n + col[None, :]
    total = tl.zeros((M, N), dtype=tl.float32)
    for i in range(0, k, K):
        total = tl.dot(tl.load(pa), tl.load(pb), total)
        pa += K
        pb += K * n
    tl.store(c + row[:, None] * n + col[None, :], total.to(tl.float16))


def dump(name, kernel):
    text = kernel.asm["ptx"]
    with open(f"{sys.argv[1]}/{name}.ptx", "w") as f:
        f.write(text)
    entry = re.search(r"\.entry\s+(\w+)\(([^)]*)\)", text)
    params = [p.split()[1:] for p in re.sub(r"//.*", "", entry.group(2)).split(",")]
    print(name, "entry", entry.group(1), "warps", kernel.metadata.num_warps, "shared", kernel.metadata.shared, [" ".join(p[:-1]) for p in params])


def near(name, got, want, tolerance):
    error = (got.float() - want.float()).abs().max().item()
    assert error <= tolerance, f"{name}: off by {error}"


def main():
    g = torch.Generator().manual_seed(1)
    x = torch.randn(1024, generator=g).cuda()
    y = torch.randn(1024, generator=g).cuda()
    out = torch.empty_like(x)
    dump("vector_add", vector_add[(4,)](x, y, out, 1000, BLOCK=256, num_warps=4))
    near("vector_add", out[:1000], (x + y)[:1000], 0)
    dump("row_sum", row_sum[(4,)](x, out, 256, 250, BLOCK=256, num_warps=4))
    near("row_sum", out[:4], x.view(4, 256)[:, :250].sum(1), 1e-4)
    dump("softmax", softmax[(4,)](x, out, 250, BLOCK=256, num_warps=4))
    near("softmax", out[:1000].view(4, 250), torch.softmax(x[:1000].view(4, 250), 1), 1e-6)
    dump("layer_norm", layer_norm[(4,)](x, y, y, out, 256, 1e-5, BLOCK=256, num_warps=2))
    near("layer_norm", out.view(4, 256), torch.layer_norm(x.view(4, 256), (256,), y[:256], y[:256]), 1e-5)
    dump("scan_rows", scan_rows[(2,)](x, out, BLOCK=512, num_warps=4))
    near("scan_rows", out.view(2, 512), x.view(2, 512).cumsum(1), 1e-3)
    a = torch.randn(64, 64, generator=g).half().cuda()
    c = torch.empty_like(a)
    dump("matmul", matmul[(2, 2)](a, a, c, 64, 64, 64, M=32, N=32, K=16, num_warps=2, num_stages=3))
    near("matmul", c, a @ a, 0.1)


main()
