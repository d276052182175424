#!/usr/bin/env bash
# tensorflow 2.21.0: broadcasting works for six axes or not, depending on which of them have size 1.
#
# Kernels on the processor join neighboring axes that broadcast alike, and have code for five of what is left. Six axes of
# which every second has size 1 in one operand, and the others in the other operand, leave six: Add, Minimum and
# even BroadcastTo raise UnimplementedError, which no page of these functions mentions. The same shapes with two
# neighboring axes swapped work. NumPy and PyTorch have no such limit. Expanding by at most four axes at a time works.
#
# Seen with tensorflow-cpu 2.21.0, numpy 2.4.6 and Python 3.11 on Linux x64:
#   [2,1,2,1,3,1] + [1,3,1,2,1,2]           UnimplementedError
#   [2,2,1,1,3,1] + [1,1,3,2,1,2]           works
#   [2,1,2,1,3,1] to [2,3,2,2,3,2]          UnimplementedError
#   the same by [2,1,2,2,3,2]               works
#
# Fails where this has changed.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check tensorflow-cpu==2.21.0 numpy==2.4.6
TF_CPP_MIN_LOG_LEVEL=3 "$folder/venv/bin/python" - 2>/dev/null <<'PYTHON'
import numpy as np
import tensorflow as tf


def outcome(compute, expected):
    try:
        result = compute().numpy()
    except tf.errors.UnimplementedError:
        return "UnimplementedError"
    assert np.array_equal(result, expected)
    return "works"


def of(*shape):
    return np.arange(np.prod(shape), dtype=np.float32).reshape(shape)


a, b = of(2, 1, 2, 1, 3, 1), of(1, 3, 1, 2, 1, 2)
c, d = of(2, 2, 1, 1, 3, 1), of(1, 1, 3, 2, 1, 2)
whole, half = (2, 3, 2, 2, 3, 2), (2, 1, 2, 2, 3, 2)
seen = {
    "alternating, added": outcome(lambda: tf.add(a, b), a + b),
    "neighbors alike, added": outcome(lambda: tf.add(c, d), c + d),
    "alternating, expanded": outcome(lambda: tf.broadcast_to(a, whole), np.broadcast_to(a, whole)),
    "expanded in two steps": outcome(
        lambda: tf.broadcast_to(tf.broadcast_to(a, half), whole), np.broadcast_to(a, whole)
    ),
}
print("tensorflow", tf.__version__)
for what, result in seen.items():
    print(f"{what:24}{result}")
assert list(seen.values()) == ["UnimplementedError", "works", "UnimplementedError", "works"]
PYTHON
