#!/usr/bin/env bash
# ONNX Runtime 1.32.0: a cast to FLOAT8E5M2 with saturate=0 turns 61 440 to 65 535 into NaN, 65 536 and more into infinity.
#
# The largest finite float8e5m2 is 57 344, and the next number of its exponent would be 65 536. Numbers from the midpoint
# of both on, 61 440, round to infinity, as ONNX's table of casts says and its reference code does. ONNX Runtime's cast on
# the processor gives NaN between the midpoint and 65 536, and infinity only after that: the larger number is the tamer
# one. A check for infinities, such as a loss scaler's, has to ask for NaN too. float8e4m3fn, which has no infinity, gives
# NaN on both sides, as it should.
#
# Seen with onnxruntime 1.32.0, onnx 1.23.2, numpy 2.4.6 and Python 3.11 on Linux x64, on the processor:
#      x        ONNX Runtime   onnx.reference
#   57 344          57 344          57 344
#   61 358.08       57 344          57 344
#   61 440             nan             inf
#   64 798.72          nan             inf
#   65 536             inf             inf
#
# Fails where this has changed.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check onnxruntime==1.32.0 onnx==1.23.2 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

nodes = [
    helper.make_node("Cast", ["x"], ["q"], to=TensorProto.FLOAT8E5M2, saturate=0),
    helper.make_node("Cast", ["q"], ["y"], to=TensorProto.FLOAT),
]
of = lambda name: helper.make_tensor_value_info(name, TensorProto.FLOAT, [None])
graph = helper.make_graph(nodes, "cast", [of("x")], [of("y")])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
onnx.checker.check_model(model)
x = np.array([57344, 61358.08, 61440, 64798.72, 65536, np.inf], np.float32)
session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
(got,) = session.run(None, {"x": x})
(want,) = ReferenceEvaluator(model).run(None, {"x": x})
print("onnxruntime", onnxruntime.__version__, " onnx", onnx.__version__)
for row in zip(x, got, want):
    print("%10.2f %10.0f %10.0f" % row)
assert want.tolist()[:2] == [57344, 57344] and np.isposinf(want[2:]).all()
assert np.isnan(got[2:4]).all() and np.isposinf(got[4:]).all()
PYTHON
