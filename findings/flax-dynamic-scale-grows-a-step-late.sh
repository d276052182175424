#!/usr/bin/env bash
# flax 0.12.8: DynamicScale(growth_interval=n) doubles the loss scale after n + 1 good steps, not n.
#
# Its counter is compared before it is raised, so that the step that makes it n does not grow the scale; the next one
# does. With the default of 2000 the scale grows after 2001 steps. PyTorch's GradScaler, jmp and Keras grow after
# exactly the interval, so that runs which are compared step by step part there, and a growth that is expected in the
# last step of an epoch comes in the first of the next.
#
# Seen with flax 0.12.8, jax 0.10.2, numpy 2.4.6 and Python 3.11:
#   growth_interval 1: the scale grows in good step 2
#   growth_interval 5: the scale grows in good step 6
#   growth_interval 2000: the scale grows in good step 2001
#
# Fails where this has changed.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check flax==0.12.8 jax==0.10.2 jaxlib==0.10.2 numpy==2.4.6
JAX_PLATFORMS=cpu "$folder/venv/bin/python" - <<'PYTHON'
import flax
import jax
import jax.numpy as jnp
from flax.training.dynamic_scale import DynamicScale

print("flax", flax.__version__)
step = jax.jit(lambda scale: scale.value_and_grad(jnp.sum)(jnp.ones(1))[0])
for interval in (1, 5, 2000):
    scale, steps = DynamicScale(growth_interval=interval, scale=16.0), 0
    while float(scale.scale) == 16:
        scale, steps = step(scale), steps + 1
    print(f"growth_interval {interval}: the scale grows in good step {steps}")
    assert steps == interval + 1 and float(scale.scale) == 32
PYTHON
