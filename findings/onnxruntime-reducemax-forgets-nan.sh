#!/usr/bin/env bash
# onnxruntime 1.32.0: ReduceMax on the CPU is NaN only if the first element is.
#
# It keeps the first element and replaces it by each that compares greater, which NaN never does. ReduceMin has the
# same. ONNX's own reference gives NaN for any of them, and so do NumPy, PyTorch and TensorFlow. A check for numbers
# that are not finite by the largest magnitude therefore passes, and a softmax or a range that subtracts such a maximum
# looks healthy. A sum of x * 0 keeps NaN and infinity.
#
# Seen with onnxruntime 1.32.0, onnx 1.23.2, numpy 2.4.6 and Python 3.11 on x86-64:
#   NaN at each of 17 places among ones: ReduceMax is NaN for [0], ReduceMin for [0], ReduceSum of x * 0 for all 17
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


places = range(17)
zero = helper.make_tensor("zero", TensorProto.FLOAT, [], [0.0])
found = {}
for op in ("ReduceMax", "ReduceMin", "ReduceSum"):
    times_zero = [helper.make_node("Mul", ["x", "zero"], ["z"])] if op == "ReduceSum" else []
    nodes = [*times_zero, helper.make_node(op, ["z" if times_zero else "x"], ["y"], keepdims=0)]
    rows = [np.where(np.arange(17) == place, np.nan, 1).astype(np.float32) for place in places]
    found[op] = [place for place in places if np.isnan(run(nodes, rows[place], constants=[zero]))]
    print(op, "is NaN for NaN at", found[op])
assert found == {"ReduceMax": [0], "ReduceMin": [0], "ReduceSum": list(places)}
PYTHON
