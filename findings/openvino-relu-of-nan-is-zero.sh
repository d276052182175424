#!/usr/bin/env bash
# openvino 2026.4.1: on the CPU, Relu and Clamp of NaN are 0, and Maximum(NaN, 1) is 1 where Maximum(1, NaN) is NaN.
#
# They compile to the processor's maximum and minimum, which return their second operand if either is NaN. ReduceMax of
# nine numbers is NaN only if the last of them is. A network whose weights have become NaN then predicts ordinary
# numbers behind its next Relu: a check of outputs for NaN does not find it. NumPy, PyTorch, TensorFlow and ONNX Runtime
# give NaN for a Relu.
#
# Seen with openvino 2026.4.1, numpy 2.4.6 and Python 3.11 on x86-64:
#   Relu(NaN) 0.0, Clamp(NaN, 0, 1) 0.0, Maximum(NaN, 1) 1.0, Maximum(1, NaN) nan
#   NaN at each of 9 places among ones: ReduceMax is NaN for [8]
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


nan, one = np.full(9, np.nan, np.float32), np.ones(9, np.float32)
relu, clamp = run(op.relu, nan)[0], run(lambda v: op.clamp(v, 0, 1), nan)[0]
first, second = run(op.maximum, nan, one)[0], run(op.maximum, one, nan)[0]
print(f"Relu(NaN) {relu}, Clamp(NaN, 0, 1) {clamp}, Maximum(NaN, 1) {first}, Maximum(1, NaN) {second}")
assert relu == clamp == 0 and first == 1 and np.isnan(second)
axis = lambda: op.constant(np.array([0]))
rows = [np.where(np.arange(9) == place, np.nan, 1).astype(np.float32) for place in range(9)]
kept = [place for place in range(9) if np.isnan(run(lambda v: op.reduce_max(v, axis()), rows[place]))]
print("NaN at each of 9 places among ones: ReduceMax is NaN for", kept)
assert kept == [8]
PYTHON
