#!/usr/bin/env bash
# openvino 2026.4.1: -7 / 2 in int32 is -4 where it is folded while the model is compiled, and -3 where it is computed.
#
# Divide has an attribute m_pythondiv, true by default, which its specification describes as division towards negative
# infinity. Constants are folded by that rule. The CPU's kernel ignores it and divides towards zero. So a model changes
# its results when an input becomes a constant. FloorMod, x - y * FloorMod and a Floor of a float quotient agree.
#
# Seen with openvino 2026.4.1, numpy 2.4.6 and Python 3.11 on x86-64:
#   m_pythondiv True: -7 / 2 and 7 / 2 as constants: [-4  3], as inputs: [-3  3]
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


a, b = np.array([-7, 7], np.int32), np.array([2, 2], np.int32)
node = op.divide(op.constant(a), op.constant(b))
is_python = node.get_attributes()["m_pythondiv"]
folded = core.compile_model(openvino.Model([node], [], "constants"), "CPU")([])[0]
computed = run(op.divide, a, b)
print(f"m_pythondiv {is_python}: -7 / 2 and 7 / 2 as constants: {folded}, as inputs: {computed}")
assert is_python and list(folded) == [-4, 3] and list(computed) == [-3, 3]
PYTHON
