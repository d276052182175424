#!/usr/bin/env bash
# jax 0.10.2 (XLA): the sigmoid of float16 is 0 from -11.1 on, and float16 has numbers for it down to -17.3.
#
# XLA computes the logistic function of a float16 as 1 / (1 + exp(-x)) in float16. exp(11.1) is above 65504, the largest
# float16, so that the quotient is 0. sigmoid(-12) is 6.14e-6, which float16 holds to two digits; the gradient is 0 with
# it, and the logarithm is -infinity. Computing in float32 and rounding once gives all of them.
#
# Seen with jaxlib 0.10.2, numpy 2.4.6 and Python 3.11 on x86-64 (Intel), on the processor:
#     x      float16    through float32
#   -11.0    1.67e-05   1.67e-05
#   -12.0    0.0        6.14e-06
#   -16.0    0.0        1.19e-07
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
for x in (-11.0, -12.0, -16.0):
    half = float(jax.jit(jax.nn.sigmoid)(jnp.float16(x)))
    wide = float(jax.nn.sigmoid(jnp.float32(x)).astype(jnp.float16))
    print(f"{x:6}  {half:.3g}  {wide:.3g}")
    assert wide > 0 and (half > 0) == (x > -11.09)
PYTHON
