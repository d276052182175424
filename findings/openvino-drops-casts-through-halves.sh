#!/usr/bin/env bash
# openvino 2026.4.1: on the CPU, a conversion of float32 to float16 or bfloat16 and back is removed, and rounds nothing.
#
# The pair counts as lossless, even with INFERENCE_PRECISION_HINT f32 and with a Relu between the two conversions. 70000
# stays 70000 where float16 is infinite, and 1e-9 stays where it is 0. A model that simulates half precision by such
# casts, or checks whether its weights survive it, is computed in float32 and reports that nothing is lost. A conversion
# to int32 and back is kept. Rounding by arithmetic (add and subtract a large number) is kept too.
#
# Seen with openvino 2026.4.1, numpy 2.4.6 and Python 3.11 on x86-64 (AMD EPYC without AVX-512):
#                     70000   1.0004   1e-09
#   through float16   70000   1.0004   1e-09
#   with a Relu       70000   1.0004   1e-09
#   through bfloat16  70000   1.0004   1e-09
#   numpy's float16   inf     1.0      0
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


x = np.array([70000, 1.0004, 1e-9], np.float32)
found = {
    "through float16": run(lambda v: op.convert(op.convert(v, "f16"), "f32"), x),
    "with a Relu": run(lambda v: op.convert(op.relu(op.convert(v, "f16")), "f32"), x),
    "through bfloat16": run(lambda v: op.convert(op.convert(v, "bf16"), "f32"), x),
}
for name, result in found.items():
    print(f"{name:17}", *(f"{value:.5g}" for value in result))
    assert (result == x).all()
with np.errstate(over="ignore"):
    print("numpy's float16  ", *(f"{value:.5g}" for value in x.astype(np.float16)))
assert run(lambda v: op.convert(op.convert(v, "i32"), "f32"), x)[1] == 1
PYTHON
