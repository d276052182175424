#!/usr/bin/env bash
# ml_dtypes 0.6.0, PyTorch 2.15.0, onnx 1.23.2, OpenVINO 2026.4.1: casts to E8M0, the scales of OCP's MX formats, differ.
#
# E8M0 has powers of two from 2^-127 on, no sign, no zero and no infinity. A scale of 0, of a block of zeros, becomes code
# 255 (NaN) in ml_dtypes and code 0 (2^-127) in the others: with NaN the whole block is NaN. 1.5 · 2^k is a tie: ml_dtypes,
# PyTorch and onnx's `nearest` round it up, OpenVINO to the even code, and onnx's default, `up`, turns 1.25 into 2 as well.
# Of infinity OpenVINO makes the largest scale, the others NaN. Of -1.5, PyTorch and onnx take the magnitude.
#
# Seen with these versions, numpy 2.4.6 and Python 3.11 on Linux x64, on the processor (codes; 127 is 1, 255 is NaN):
#                    0   1.25   1.5     3   inf  -1.5   largest
#  ml_dtypes       255    127   128   129   255   255       255
#  torch             0    127   128   129   255   128       255
#  onnx up           0    128   128   129   255   128       254
#  onnx nearest      0    127   128   129   255   128       254
#  openvino          0    127   128   128   254     0       254
#
# Fails where this has changed.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check \
  ml_dtypes==0.6.0 torch==2.15.0 onnx==1.23.2 openvino==2026.4.1 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import ml_dtypes
import numpy as np
import onnx
import openvino
import torch
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator
from openvino import opset15 as ops

x = np.array([0, 1.25, 1.5, 3, np.inf, -1.5, np.finfo(np.float32).max], np.float32)


def of_onnx(mode):
    node = helper.make_node("Cast", ["x"], ["y"], to=TensorProto.FLOAT8E8M0, round_mode=mode)
    of = helper.make_tensor_value_info
    ends = [of("x", TensorProto.FLOAT, [None])], [of("y", TensorProto.FLOAT8E8M0, [None])]
    model = helper.make_model(helper.make_graph([node], "cast", *ends), opset_imports=[helper.make_opsetid("", 25)])
    return ReferenceEvaluator(model).run(None, {"x": x})[0].view(np.uint8)


def of_openvino():
    parameter = ops.parameter([len(x)], openvino.Type.f32)
    model = openvino.Model([ops.convert(parameter, "f8e8m0")], [parameter], "cast")
    compiled = openvino.Core().compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    request = compiled.create_infer_request()
    request.infer({0: x})
    return np.array(request.get_output_tensor(0).data).view(np.uint8)


print("ml_dtypes", ml_dtypes.__version__, " torch", torch.__version__, " onnx", onnx.__version__, " openvino", openvino.__version__)
print(" " * 12, *("%5.4g" % number for number in x))
seen = {
    "ml_dtypes": (x.astype(ml_dtypes.float8_e8m0fnu).view(np.uint8), [255, 127, 128, 129, 255, 255, 255]),
    "torch": (torch.from_numpy(x).to(torch.float8_e8m0fnu).view(torch.uint8).numpy(), [0, 127, 128, 129, 255, 128, 255]),
    "onnx up": (of_onnx("up"), [0, 128, 128, 129, 255, 128, 254]),
    "onnx nearest": (of_onnx("nearest"), [0, 127, 128, 129, 255, 128, 254]),
    "openvino": (of_openvino(), [0, 127, 128, 128, 254, 0, 254]),
}
for library, (codes, wanted) in seen.items():
    print(f"{library:12}", *("%5d" % code for code in codes))
    assert codes.tolist() == wanted, library
PYTHON
