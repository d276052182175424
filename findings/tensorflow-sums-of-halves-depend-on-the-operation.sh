#!/usr/bin/env bash
# tensorflow 2.21.0: on the CPU, tf.reduce_mean of 4096 float16 ones over the rows of a matrix is 0.5, and the gradient
# of tf.nn.bias_add for 1000 bfloat16 rows of ones is 256.
#
# Sums over all elements or over the last axis go through partial sums and are right. Over the first axis rows are added
# one after the other and rounded each time, for float16: 2048 + 1 is 2048. In bfloat16 that sum is right, but
# bias_add's gradient, tf.cumsum and the segment sums add one after the other: 256 + 1 is 256. The gradient of x + bias,
# which computes the same, is 1000. Which of them a model meets depends on how its layer was written, and on no option.
#
# Seen with tensorflow-cpu 2.21.0, numpy 2.4.6 and Python 3.11 on x86-64:
#   mean of float16 ones [4096, 3] over rows 0.5, of [3, 4096] over columns 1.0
#   bfloat16, 1000 rows: gradient of bias_add 256, of x + bias 1000
#   bfloat16, 1000 ones: cumsum and unsorted_segment_sum 256, reduce_sum 1000
#
# Fails where this has changed.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check tensorflow-cpu==2.21.0 numpy==2.4.6
TF_CPP_MIN_LOG_LEVEL=3 "$folder/venv/bin/python" - 2>/dev/null <<'PYTHON'
import tensorflow as tf

print("tensorflow", tf.__version__)
half, brain = tf.float16, tf.bfloat16
rows = float(tf.reduce_mean(tf.ones([4096, 3], half), 0)[0])
columns = float(tf.reduce_mean(tf.ones([3, 4096], half), 1)[0])
print("mean of float16 ones [4096, 3] over rows", rows, "of [3, 4096] over columns", columns)
assert rows == 0.5 and columns == 1


def gradient(add):
    bias = tf.Variable(tf.zeros([1], brain))
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(add(tf.ones([1000, 1], brain), bias))
    return float(tape.gradient(loss, bias)[0])


ones = tf.ones(1000, brain)
found = {
    "gradient of bias_add": gradient(tf.nn.bias_add),
    "of x + bias": gradient(tf.add),
    "cumsum": float(tf.cumsum(ones)[-1]),
    "unsorted_segment_sum": float(tf.math.unsorted_segment_sum(ones, tf.zeros(1000, tf.int32), 1)[0]),
    "reduce_sum": float(tf.reduce_sum(ones)),
}
print("bfloat16, 1000 rows:", found)
assert list(found.values()) == [256, 1000, 256, 256, 1000]
PYTHON
