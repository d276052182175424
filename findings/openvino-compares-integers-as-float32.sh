#!/usr/bin/env bash
# openvino 2026.4.1: on the CPU, Greater, Equal and ReduceMax of int32 are computed in float32, so that numbers above
# 2^24 that differ compare as equal.
#
# 16777217 and 16777216 are equal, the first is not greater, the maximum of 16777217 and 1 is 16777216, and so is their
# sum. No error and no warning says so. Add, Subtract, Maximum, TopK and Gather are exact. Ids, positions in long data
# and bit patterns held in int32 are such numbers; an attention mask or a padding mask made by comparing them is wrong.
#
# Seen with openvino 2026.4.1, numpy 2.4.6 and Python 3.11 on x86-64:
#   16777217 > 16777216: False, ==: True; ReduceMax of 16777217 and 1: 16777216, ReduceSum: 16777216
#   Maximum: 16777217, Subtract: 1
#
# Fails where this has changed.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check openvino==2026.4.1 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import numpy as np
import openvino
from openvino import opset15 as op

print("openvino", openvino.__version__)
core = openvino.Core()


def run(build, *arrays):
    parameters = [op.parameter(list(a.shape), openvino.Type(a.dtype)) for a in arrays]
    model = openvino.Model([build(*parameters)], parameters, "model")
    compiled = core.compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    return compiled(list(arrays))[0]


large, next_lower = np.array([2**24 + 1], np.int32), np.array([2**24], np.int32)
greater, equal, maximum, difference = (
    run(f, large, next_lower)[0] for f in (op.greater, op.equal, op.maximum, op.subtract)
)
axis = lambda: op.constant(np.array([0]))
both = np.array([2**24 + 1, 1], np.int32)
reduced_max, reduced_sum = (int(run(lambda v: f(v, axis()), both)) for f in (op.reduce_max, op.reduce_sum))
print(f"16777217 > 16777216: {greater}, ==: {equal}; "
      f"ReduceMax of 16777217 and 1: {reduced_max}, ReduceSum: {reduced_sum}")
print(f"Maximum: {maximum}, Subtract: {difference}")
assert not greater and equal and reduced_max == reduced_sum == 2**24
assert maximum == 2**24 + 1 and difference == 1
PYTHON
