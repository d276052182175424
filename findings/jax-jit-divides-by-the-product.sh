#!/usr/bin/env bash
# jax 0.10.2 (XLA): in a jitted function (a / b) / c becomes a / (b * c), and the product leaves the range of its type.
#
# Eagerly, each division is a computation of its own and exact. Compiled together, XLA merges them, in float32 as in
# float16 and without any flag for fast math; a / (b / c) becomes (a * c) / b in the same way. Where a loss scale is
# divided out and a count after it, the quotient is 0 or infinite although every intermediate value that was written is
# an ordinary number. jax.lax.optimization_barrier between the divisions keeps them apart.
#
# Seen with jaxlib 0.10.2, numpy 2.4.6 and Python 3.11 on x86-64 (AMD EPYC), on the processor:
#                               jitted  eager   with a barrier
#   (1e30 / 1e20) / 1e20        0.0     1e-10   1e-10
#   1e30 / (1e30 / 1e20)        inf     1e+20   1e+20
#   float16 (60000 / 300) / 300 0.0     0.667   0.667
#
# Fails where this has changed.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check jax==0.10.2 jaxlib==0.10.2 numpy==2.4.6
JAX_PLATFORMS=cpu "$folder/venv/bin/python" - <<'PYTHON'
import jax
import jax.numpy as jnp

print("jax", jax.__version__)
barrier = jax.lax.optimization_barrier
f32, f16 = jnp.float32, jnp.float16
twice = lambda a, b, c: (a / b) / c
nested = lambda a, b, c: a / (b / c)
for name, divide, apart, numbers in (
    ("(1e30 / 1e20) / 1e20", twice, lambda a, b, c: barrier(a / b) / c, map(f32, (1e30, 1e20, 1e20))),
    ("1e30 / (1e30 / 1e20)", nested, lambda a, b, c: a / barrier(b / c), map(f32, (1e30, 1e30, 1e20))),
    ("float16 (60000 / 300) / 300", twice, lambda a, b, c: barrier(a / b) / c, map(f16, (60000, 300, 300))),
):
    numbers = tuple(numbers)
    jitted, eager, kept = (float(f(*numbers)) for f in (jax.jit(divide), divide, jax.jit(apart)))
    print(f"{name:28}{jitted:<8.3g}{eager:<8.3g}{kept:.3g}")
    assert jitted in (0, float("inf")) and kept == eager and 0 < eager < 1e38
PYTHON
