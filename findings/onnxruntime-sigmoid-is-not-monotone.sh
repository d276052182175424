#!/usr/bin/env bash
# onnxruntime 1.32.0: Sigmoid on the CPU falls while x rises, on a third of the steps between -18 and -14, and is
# exactly 0 from -18 down.
#
# It is computed as a quotient of polynomials plus one half, so that its error near 0 is that of numbers near a half,
# about 3e-8, and not of its result. sigmoid(-15) is 3.6e-7 and should be 3.06e-7; sigmoid(-18) is 0 and should be
# 1.5e-8. Its logarithm, as in binary cross entropy, is wrong from the second digit on and then -infinity, and a
# gradient divided by it NaN. 1 / (1 + exp(-x)) is right to the last digits.
#
# Seen with onnxruntime 1.32.0, onnx 1.23.2, numpy 2.4.6 and Python 3.11 on x86-64:
#     x      Sigmoid      1 / (1 + Exp(-x))
#    -15.0   3.5763e-07   3.0590e-07
#    -17.0   8.9407e-08   4.1399e-08
#    -18.0   0.0000e+00   1.5230e-08
#   of 40000 steps of 0.0001 from -18 to -14 Sigmoid falls in 12612, the quotient in 0
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


one = helper.make_tensor("one", TensorProto.FLOAT, [], [1.0])
node = helper.make_node
quotient = [node("Neg", ["x"], ["n"]), node("Exp", ["n"], ["e"]), node("Add", ["e", "one"], ["s"])]
forms = ([node("Sigmoid", ["x"], ["y"])], [*quotient, node("Div", ["one", "s"], ["y"])])
xs = np.array([-15, -17, -18], np.float32)
for x, by_operator, by_quotient in zip(xs, *(run(form, xs, constants=[one]) for form in forms)):
    print(f"{x:8}   {by_operator:.4e}   {by_quotient:.4e}")
    assert abs(by_operator * (1 + np.exp(-float(x))) - 1) > 0.1
    assert abs(by_quotient * (1 + np.exp(-float(x))) - 1) < 1e-5
steps = np.linspace(-18, -14, 40001, dtype=np.float32)
falls = [int((np.diff(run(form, steps, constants=[one])) < 0).sum()) for form in forms]
print(f"of 40000 steps of 0.0001 from -18 to -14 Sigmoid falls in {falls[0]}, the quotient in {falls[1]}")
assert falls[0] > 10000 and falls[1] == 0
PYTHON
