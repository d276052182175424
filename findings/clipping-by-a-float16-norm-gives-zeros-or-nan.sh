#!/usr/bin/env bash
# optax 0.2.8 and tensorflow 2.21.0: clipping gradients by their global norm gives zeros (optax) or NaN (TensorFlow) as
# soon as one float16 gradient is above 255.
#
# Both square and add in the dtype of the gradients. 256 * 256 is above 65504, so that the norm is infinite. optax
# multiplies by max_norm / norm, which is 0: all gradients of the step are lost, no value is NaN, and nothing is
# skipped. TensorFlow gives NaN. Scaled gradients are large on purpose, so that the order matters: cast to float32 (and
# divide by the loss scale) before clipping.
#
# Seen with optax 0.2.8, jax 0.10.2, tensorflow-cpu 2.21.0, numpy 2.4.6 and Python 3.11 on x86-64:
#                float16 gradients [300, 300, 300, 300], norm 600   the same in float32
#   optax        0.0 0.0 0.0 0.0                                    0.5 0.5 0.5 0.5
#   tensorflow   nan nan nan nan                                    0.5 0.5 0.5 0.5
#
# Fails where this has changed.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check optax==0.2.8 jax==0.10.2 jaxlib==0.10.2 \
  tensorflow-cpu==2.21.0 numpy==2.4.6
JAX_PLATFORMS=cpu TF_CPP_MIN_LOG_LEVEL=3 "$folder/venv/bin/python" - 2>/dev/null <<'PYTHON'
import jax.numpy as jnp
import numpy as np
import optax
import tensorflow as tf

print("optax", optax.__version__, "tensorflow", tf.__version__)


def with_optax(gradients):
    clip = optax.clip_by_global_norm(1.0)
    tree = {"w": jnp.asarray(gradients)}
    return clip.update(tree, clip.init(tree))[0]["w"]


def with_tensorflow(gradients):
    return tf.clip_by_global_norm([tf.constant(gradients)], 1.0)[0][0]


for name, clip in (("optax", with_optax), ("tensorflow", with_tensorflow)):
    half, single = (np.asarray(clip(np.full(4, 300, dtype))) for dtype in (np.float16, np.float32))
    print(f"{name:13}", *half, "  ", *single)
    assert (single == 0.5).all()
    assert (half == 0).all() if name == "optax" else np.isnan(half).all()
PYTHON
