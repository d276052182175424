#!/usr/bin/env bash
# openvino 2026.4.1: on the CPU, models of int64 and float64 are computed in 32 bits: 2^40 comes out as 0.
#
# Inputs of int64 lose their upper bits, without an error: a Reshape of 2^40 gives 0, 2^40 + 1 is 1, and 2^31 becomes
# -2^31. The results' dtype is still int64. A conversion to float32 as the first operation sees the whole number.
# float64 becomes float32, and what is beyond its range the largest float32. The other engines of ONNX keep 64 bits, so
# a model with hashes, times in milliseconds or large row numbers changes its results when it is moved.
#
# Seen with openvino 2026.4.1, numpy 2.4.6 and Python 3.11 on x86-64:
#   2147483648 reshaped: -2147483648, plus 1: -2147483647, as float32: 2147483648
#   1099511627776 reshaped: 0, plus 1: 1, as float32: 1099511627776
#   float64 1e300 + 0: 3.4028234663852886e+38
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


for number in (2**31, 2**40):
    x = np.array([number], np.int64)
    reshaped = run(lambda v: op.reshape(v, op.constant(np.array([1, 1])), False), x)
    added = run(lambda v: op.add(v, op.constant(np.array([1]))), x)
    single = run(lambda v: op.convert(v, "f32"), x)
    print(f"{number} reshaped: {reshaped[0, 0]}, plus 1: {added[0]}, as float32: {single[0]:.0f}")
    assert reshaped.dtype == added.dtype == np.int64 and single[0] == number
    assert reshaped[0, 0] == np.int64(number).astype(np.int32) == added[0] - 1
wide = run(lambda v: op.add(v, op.constant(np.array([0.0]))), np.array([1e300]))
print(f"float64 1e300 + 0: {wide[0]}")
assert wide.dtype == np.float64 and wide[0] == np.finfo(np.float32).max
PYTHON
