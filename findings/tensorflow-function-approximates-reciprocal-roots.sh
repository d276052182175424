#!/usr/bin/env bash
# TensorFlow 2.21.0: the same Python function gives other numbers inside tf.function, without jit_compile.
#
# Called eagerly, 1 / tf.sqrt(x) of 1, 4, 16 and 0.25 is exactly 1, 0.5, 0.25 and 2. Inside tf.function the graph
# optimizer (Grappler, on by default) replaces the square root and the division by one Rsqrt, whose kernel for float32 is
# an approximation: every one of these results is off in the last place or the one before, though all are powers of two.
# Two passes do it, each by itself: the exact results are back with {"disable_meta_optimizer": True}, or with both
# "arithmetic_optimization" and "constant_folding" off (tf.config.optimizer.set_experimental_options), not with one of them.
# A layer that divides by sqrt(variance) is therefore not equal to itself between eager and graph mode.
#
# Seen with tensorflow-cpu 2.21.0, numpy 2.4.6 and Python 3.11 on x86-64 with AVX-512 (Intel, family 6, model 207):
#   eager        [1.0, 0.5, 0.25, 2.0]
#   tf.function  [0.9999999403953552, 0.4999999701976776, 0.2499999850988388, 1.9999998807907104]
#   unoptimized  [1.0, 0.5, 0.25, 2.0]
#
# Fails where this has changed.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check tensorflow-cpu==2.21.0 numpy==2.4.6
TF_CPP_MIN_LOG_LEVEL=3 "$folder/venv/bin/python" - 2>/dev/null <<'PYTHON'
import numpy as np
import tensorflow as tf

x = tf.constant(np.array([1, 4, 16, 0.25] + [2, 3, 5, 7] * 8, np.float32))
reciprocal_root = lambda t: 1.0 / tf.sqrt(t)
eager = reciprocal_root(x).numpy()[:4].tolist()
graph = tf.function(reciprocal_root)(x).numpy()[:4].tolist()
tf.config.optimizer.set_experimental_options({"disable_meta_optimizer": True})
unoptimized = tf.function(lambda t: 1.0 / tf.sqrt(t))(x).numpy()[:4].tolist()
print("tensorflow  ", tf.__version__)
print("eager       ", eager)
print("tf.function ", graph)
print("unoptimized ", unoptimized)
exact = [1.0, 0.5, 0.25, 2.0]
assert eager == exact and unoptimized == exact, "without the optimizer the results are exact"
assert all(a != b for a, b in zip(graph, exact)), "the optimizer's results are inexact"
PYTHON
