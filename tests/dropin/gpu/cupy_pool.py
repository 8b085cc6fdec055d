"""CuPy's MemoryAsyncPool, unchanged. It prints what it computes; see pytorch.py."""
import hashlib

import cupy

MIB = 1 << 20


def digest(array):
    return hashlib.sha256(cupy.asnumpy(array).tobytes()).hexdigest()[:16]


before = cupy.cuda.runtime.memGetInfo()[0]
pool = cupy.cuda.MemoryAsyncPool()
cupy.cuda.set_allocator(pool.malloc)
random = cupy.random.RandomState(5)
total = cupy.zeros((1024, 1024), dtype=cupy.float64)
for number in range(100):
    a = random.random_sample((256 + 16 * (number % 29), 1024))
    total += a.T @ a
print("products:", digest(cupy.rint(total * 1e3)))
streams = [cupy.cuda.Stream(non_blocking=True) for _ in range(4)]
parts = []
for number in range(64):
    with streams[number % 4]:
        part = cupy.full((MIB,), number, dtype=cupy.float32)
        parts.append((part * 2).sum())
for stream in streams:
    stream.synchronize()
print("sums:", [int(part) for part in parts[::8]])
print("sorted:", digest(cupy.sort(random.random_sample(3 * MIB))))
print("figures are told:", pool.used_bytes() > 0)
cupy.cuda.Device().synchronize()
print(f"device memory: {(before - cupy.cuda.runtime.memGetInfo()[0]) / MIB:.0f} MiB")
