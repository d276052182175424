#!/usr/bin/env bash
# jax 0.10.2 (XLA): on the processor an array divided by a float32 scalar above 2 ** 126 is 0, even 3e38 / 3e38.
#
# XLA writes the quotient as a product with the reciprocal of the scalar, which is subnormal, and so flushed to 0. No jit
# and no flag for fast math is needed. An array of equal divisors is divided by exactly, unless it is a constant of a
# jitted function. NumPy divides exactly. Arrays that are normalized by their largest magnitude become 0 where that is
# near the end of the range, without an infinity or NaN that a check would find.
#
# Seen with jaxlib 0.10.2, numpy 2.4.6 and Python 3.11 on x86-64 (AMD EPYC), on the processor:
#   3e38 / 8e37: by a scalar 3.75, by an array 3.75, NumPy 3.75
#   3e38 / 9e37: by a scalar 0, by an array 3.33333, NumPy 3.33333
#   3e38 / 3e38: by a scalar 0, by an array 1, NumPy 1
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
import numpy as np

print("jax", jax.__version__)
x = np.full(3, 3e38, np.float32)
for divisor in (8e37, 9e37, 3e38):
    exact = x[0] / np.float32(divisor)
    by_scalar = (jnp.asarray(x) / np.float32(divisor))[0]
    by_array = (jnp.asarray(x) / jnp.full(3, divisor, jnp.float32))[0]
    print(f"3e38 / {divisor:.0e}: by a scalar {by_scalar:g}, by an array {by_array:g}, NumPy {exact:g}".replace("e+", "e"))
    assert by_array == exact and by_scalar == (exact if divisor < 2**126 else 0)
PYTHON
