#!/usr/bin/env bash
# jax 0.10.2 (XLA): under jit an overflow in float32 can vanish, and with it what was to find it.
#
# XLA's simplifier takes floats for real numbers where two constant factors follow each other: (x * c1) * c2 becomes
# x * (c1 * c2). The product in the middle, which overflows, is never computed:
#   (1e10 * 3e38) * 0      is NaN operation by operation, and 0 under jit: the usual test for infinities, a product with 0,
#                          calls a step finite whose scaled gradients are not
#   (1e10 * 2^100) * 2^-100  is infinity, and 1e10 under jit
#   (1.4 + 12582912) - 12582912, which rounds to an integer, is 1, and 1.4 under jit
# A barrier on the value in the middle (jax.lax.optimization_barrier) keeps the two apart: the last column.
#
# Seen with jaxlib 0.10.2, numpy 2.4.6 and Python 3.11 on x86-64 with AVX-512 (Intel), on the processor:
#   times 3e38, times 0           nan  0.0  nan
#   times 2^100, times 2^-100     inf  10000000000.0  inf
#   plus and minus 12582912       1.0  1.399999976158142  1.0
#
# Fails where this has changed.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check jax==0.10.2 jaxlib==0.10.2 numpy==2.4.6
JAX_PLATFORMS=cpu "$folder/venv/bin/python" - <<'PYTHON'
import math

import jax
import jax.numpy as jnp

keep = jax.lax.optimization_barrier
programs = {
    "times 3e38, times 0": (1e10, lambda x, hold: hold(x * 3e38) * 0.0),
    "times 2^100, times 2^-100": (1e10, lambda x, hold: hold(x * 2.0**100) * 2.0**-100),
    "plus and minus 12582912": (1.4, lambda x, hold: hold(x + 12582912.0) - 12582912.0),
}
print("jax", jax.__version__, "operation by operation, jit, jit with a barrier")
for name, (value, program) in programs.items():
    x = jnp.float32(value)
    plain = lambda x: program(x, lambda y: y)
    single = float(plain(x))
    jitted = float(jax.jit(plain)(x))
    held = float(jax.jit(lambda x: program(x, keep))(x))
    print(f"{name:28}  {single}  {jitted}  {held}")
    same = single == held or (math.isnan(single) and math.isnan(held))
    assert same and jitted != single and math.isfinite(jitted), name
PYTHON
