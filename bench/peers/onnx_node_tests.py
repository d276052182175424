"""Writes the node tests of the ONNX project, which the package onnx makes, as files that @mp/onnx reads.

  pip install onnx==1.23.2
  python onnx_node_tests.py FOLDER

For each test NAME.onnx, and NAME.data.onnx, a graph without nodes whose initializers are what goes in (in/0, in/1, …)
and what comes out (out/0, …) of its data set. tests.json lists them with their tolerances and what kind they are of.
"""
import json
import sys
import warnings
from pathlib import Path

import numpy as np
import onnx
import onnx.defs
from onnx import TensorProto, helper, numpy_helper

warnings.simplefilter("ignore")
from onnx.backend.test.case.node import collect_testcases  # noqa: E402

QUANTIZED = {"QuantizeLinear", "DequantizeLinear", "DynamicQuantizeLinear", "QLinearConv", "QLinearMatMul",
             "MatMulInteger", "ConvInteger"}
# The types that the tests of float and integer operators are counted in.
NUMBERS = {TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.BFLOAT16, TensorProto.DOUBLE, TensorProto.BOOL,
           TensorProto.INT8, TensorProto.INT16, TensorProto.INT32, TensorProto.INT64,
           TensorProto.UINT8, TensorProto.UINT16, TensorProto.UINT32, TensorProto.UINT64}


# ONNX's reference code takes size · scale for a length; its text, ONNX Runtime and PyTorch take the whole number.
FRACTIONAL = {f"test_resize_downsample_scales_{mode}_align_corners" for mode in ("linear", "cubic")}


def kind_of(model):
    """Why a test is outside what is counted; empty if it is not."""
    values = [*model.graph.input, *model.graph.output]
    nodes = list(model.graph.node)
    if any(node.domain not in ("", "ai.onnx") for node in nodes):
        return "training" if any("training" in node.domain for node in nodes) else "another domain"
    if any(node.op_type in QUANTIZED for node in nodes):
        return "quantization"
    for value in values:
        which = value.type.WhichOneof("value")
        if which != "tensor_type":
            return {"sequence_type": "sequences", "optional_type": "optionals"}.get(which, which)
        if value.type.tensor_type.elem_type == TensorProto.STRING:
            return "strings"
        if value.type.tensor_type.elem_type not in NUMBERS:
            return "8 bits and less"
    if any(node.op_type.startswith(("Sequence", "Optional")) for node in nodes):
        return "sequences"
    if any(node.op_type.startswith("Random") or node.op_type == "Bernoulli" for node in nodes):
        return "random numbers, which no two implementations draw alike"
    return ""


def tensor_of(value, name):
    if isinstance(value, TensorProto):
        copy = TensorProto()
        copy.CopyFrom(value)
        copy.name = name
        return copy
    return numpy_helper.from_array(np.asarray(value), name)


def operators():
    """ONNX's own operators, without those that are gone."""
    newest = {}
    for schema in onnx.defs.get_all_schemas():
        if schema.domain == "" and not schema.deprecated:
            newest[schema.name] = schema.since_version
    return newest


def main(folder):
    folder.mkdir(parents=True, exist_ok=True)
    listed = []
    for case in collect_testcases(None):
        model = case.model
        inputs, outputs = case.data_sets[0]
        kind = "lengths in fractions" if case.name in FRACTIONAL else kind_of(model)
        entry = {"name": case.name, "kind": kind, "rtol": case.rtol, "atol": case.atol,
                 "ops": sorted({node.op_type for node in model.graph.node})}
        listed.append(entry)
        (folder / f"{case.name}.onnx").write_bytes(model.SerializeToString())
        tensors = []
        for way, values in (("in", inputs), ("out", outputs)):
            for index, value in enumerate(values):
                # Sequences and optionals are no tensors; their tests do not count, and are only read.
                try:
                    tensors.append(tensor_of(value, f"{way}/{index}"))
                except Exception:
                    entry["kind"] = kind or "no tensors"
        graph = helper.make_graph([], "data", [], [], tensors)
        (folder / f"{case.name}.data.onnx").write_bytes(helper.make_model(graph).SerializeToString())
    (folder / "tests.json").write_text(json.dumps({"onnx": onnx.__version__, "operators": operators(), "tests": listed}))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
