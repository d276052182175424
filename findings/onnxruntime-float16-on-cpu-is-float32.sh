#!/usr/bin/env bash
# onnxruntime 1.32.0: a model in float16 is computed in float32 on the CPU, and its intermediate results are not
# rounded.
#
# There are no float16 kernels for most operators on x86-64. The session puts casts around them and removes each pair
# between two of them, at every level of optimization, ORT_DISABLE_ALL included. So 2048 + 1 - 2048 is 1 and 60000 +
# 60000 - 60000 is 60000, where float16 gives 0 and infinity. A model that overflows on a GPU is healthy here: a check
# of a float16 export on the CPU says nothing about float16. Explicit Cast nodes to float16 and back, in a model of
# float32, are kept at ORT_DISABLE_ALL, and give what float16 gives.
#
# Seen with onnxruntime 1.32.0, onnx 1.23.2, numpy 2.4.6 and Python 3.11 on x86-64:
#                              model in float16   casts in float32   numpy in float16
#   (2048 + 1) - 2048          1.0                0.0                0.0
#   (60000 + 60000) - 60000    60000.0            inf                inf
#
# Fails where this has changed.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check onnxruntime==1.32.0 onnx==1.23.2 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import numpy as np
import onnxruntime
from onnx import TensorProto, helper

print("onnxruntime", onnxruntime.__version__)


def run(nodes, x, elements=TensorProto.FLOAT, constants=()):
    value = helper.make_tensor_value_info
    inputs, outputs = [value("x", elements, x.shape)], [value("y", elements, None)]
    graph = helper.make_graph(nodes, "graph", inputs, outputs, list(constants))
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(None, {"x": x})[0]


node, half, single = helper.make_node, TensorProto.FLOAT16, TensorProto.FLOAT
direct = [node("Add", ["x", "b"], ["s"]), node("Sub", ["s", "c"], ["y"])]
rounded = [node("Cast", ["s"], ["h"], to=half), node("Cast", ["h"], ["r"], to=single)]
stepwise = [direct[0], *rounded, node("Sub", ["r", "c"], ["y"])]
for a, b in ((2048, 1), (60000, 60000)):
    of = lambda elements: [helper.make_tensor(n, elements, [1], [float(v)]) for n, v in (("b", b), ("c", a))]
    in_half = float(run(direct, np.array([a], np.float16), half, of(half))[0])
    by_casts = float(run(stepwise, np.array([a], np.float32), single, of(single))[0])
    with np.errstate(over="ignore"):
        wanted = float(np.float16(a) + np.float16(b) - np.float16(a))
    print(f"({a} + {b}) - {a}: {in_half}, {by_casts}, {wanted}")
    assert by_casts == wanted != in_half == b
PYTHON
