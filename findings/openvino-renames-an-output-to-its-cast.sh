#!/usr/bin/env bash
# openvino 2026.4.1: an output that an ONNX file declares as bool is uint8 under its name, if its cast is an output before it.
#
# y is bool, and z is y as uint8. If z is listed first, both names are those of one uint8 tensor: output("y") says uint8, a
# result taken by the name "y" has that dtype, and a bool tensor for "y" is refused. The output at y's place is still
# bool. If y is listed first, every name has its own dtype. The same was seen with float16 and float32. Listing outputs
# in a model by another order, or adding a cast of an output as a second one, thus changes the dtype of a name.
#
# Seen with openvino 2026.4.1, onnx 1.22.0, numpy 2.4.6 and Python 3.11 on x86-64:
#   outputs z, y: y is u8, at its place boolean
#   outputs y, z: y is boolean, at its place boolean
#
# Fails where this has changed.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check openvino==2026.4.1 onnx==1.22.0 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import io

import onnx
import openvino

print("openvino", openvino.__version__)
core = openvino.Core()
found = []
for outputs in ("uint8[3] z, bool[3] y", "bool[3] y, uint8[3] z"):
    model = onnx.parser.parse_model(f"""
        <ir_version: 10, opset_import: ["" : 21]>
        graph (bool[3] x) => ({outputs}) {{
            y = Cast<to = 9>(x)
            z = Cast<to = 2>(y)
        }}
    """)
    onnx.checker.check_model(model, full_check=True)
    compiled = core.compile_model(core.read_model(io.BytesIO(model.SerializeToString())), "CPU")
    names = [output.name for output in model.graph.output]
    by_name = compiled.output("y").element_type.get_type_name()
    by_place = compiled.outputs[names.index("y")].element_type.get_type_name()
    print(f"outputs {', '.join(names)}: y is {by_name}, at its place {by_place}")
    found.append((by_name, by_place))
assert found == [("u8", "boolean"), ("boolean", "boolean")], found
PYTHON
