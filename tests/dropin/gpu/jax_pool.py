"""JAX with its allocator cuda_async, unchanged. It prints what it computes; see pytorch.py."""
import hashlib
import os

os.environ.setdefault("JAX_PJRT_CLIENT_CREATE_OPTIONS", "allocator:cuda_async")
os.environ.setdefault("XLA_PYTHON_CLIENT_ALLOCATOR", "cuda_async")
os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
os.environ.setdefault("XLA_FLAGS", "--xla_gpu_deterministic_ops=true --xla_gpu_autotune_level=0")

import jax
import jax.numpy as jnp
import numpy


def digest(array):
    return hashlib.sha256(numpy.asarray(array).tobytes()).hexdigest()[:16]


@jax.jit
def step(weights, data):
    def loss(w):
        hidden = jnp.tanh(data @ w[0])
        return jnp.mean((hidden @ w[1] - data) ** 2)

    value, gradient = jax.value_and_grad(loss)(weights)
    return value, [w - 0.1 * g for w, g in zip(weights, gradient)]


key = jax.random.PRNGKey(7)
weights = [jax.random.normal(key, (512, 1024)) * 0.05, jax.random.normal(key, (1024, 512)) * 0.05]
for number in range(12):
    data = jax.random.normal(jax.random.fold_in(key, number), (256 * (1 + number % 4), 512))
    value, weights = step(weights, data)
    print(f"step {number}: {float(value):.7g}")
print("weights:", digest(weights[0]), digest(weights[1]))
print("device:", jax.devices()[0].device_kind)
