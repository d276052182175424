#!/usr/bin/env bash
# TensorFlow 2.21.0: equal rows of one tf.nn.softmax have other probabilities, by their place in the batch.
#
# Eagerly, on the CPU and without oneDNN (TF_ENABLE_ONEDNN_OPTS=0 changes nothing), softmax multiplies by reciprocals of
# the rows' sums. Eight sums at a time (on AVX) take the processor's estimate and a step of Newton's method, what is left
# over takes a division. Nine rows of [1, 1] give eight times 0.49999997 and once 0.5; fewer than eight rows give 0.5.
# tf.math.reciprocal does the same, so that for most of a long tensor the reciprocal of 1 is 0.99999994. A division, 1 / x,
# is exact everywhere. Which numbers are hit depends on the processor's estimate, powers of two among them.
# A prediction therefore changes with the number of rows beside it, and probabilities of a row sum below 1.
#
# Seen with tensorflow-cpu 2.21.0, numpy 2.4.6 and Python 3.11 on x86-64 without AVX-512 (AMD EPYC, family 25, model 1):
#   rows of [1, 1], 9 of them  0.49999997 0.49999997 0.49999997 0.49999997 0.49999997 0.49999997 0.49999997 0.49999997 0.5
#   of 511 lengths, equal rows differ in 109; reciprocals of 1 to 4096 differ in 583, divisions in 0
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

print("tensorflow", tf.__version__)
print("rows of [1, 1], 9 of them ", *tf.nn.softmax(tf.ones([9, 2])).numpy()[:, 0])

def first_and_last_differ(result):
    return bool((result[0] != result[-1]).any())

lengths = range(2, 513)
softmaxes = sum(first_and_last_differ(tf.nn.softmax(tf.ones([17, n])).numpy()) for n in lengths)
copies = [tf.constant(np.full(17, x, np.float32)) for x in range(1, 4097)]
reciprocals = sum(first_and_last_differ(tf.math.reciprocal(x).numpy()) for x in copies)
divisions = sum(first_and_last_differ((1 / x).numpy()) for x in copies)
print(f"of {len(lengths)} lengths, equal rows differ in {softmaxes}; "
      f"reciprocals of 1 to 4096 differ in {reciprocals}, divisions in {divisions}")
assert softmaxes > 0 and reciprocals > 0, "equal rows have equal probabilities"
assert divisions == 0, "equal quotients differ"
PYTHON
