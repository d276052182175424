#!/usr/bin/env bash
# tensorflow 2.21.0: one tf.cast gives equal numbers outside the range of uint8 or int8 two values, by their place.
#
# Most of a tensor is cast by vector instructions, which wrap or keep the lowest byte; what is left over at its end is
# cast one by one, which clamps, or the other way round. A tensor of 67 times -1.0 becomes 64 times one of 0 and 255 and
# three times the other. A number of int32 or int64 has one result everywhere. Clip before such a cast, since no warning
# comes and a test on a short tensor sees only one of the two.
#
# Seen with tensorflow-cpu 2.21.0, numpy 2.4.6 and Python 3.11 on x86-64 (AMD EPYC), 67 equal numbers:
#   -1.0 as uint8: 0 and 255
#   300.0 as uint8: 44 and 255
#   300.0 as int8: 44 and 127
#   300.0 as int32: 300
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

print("tensorflow", tf.__version__)
for number, dtype, values in ((-1.0, tf.uint8, 2), (300.0, tf.uint8, 2), (300.0, tf.int8, 2), (300.0, tf.int32, 1)):
    found = np.unique(tf.cast(tf.fill([67], number), dtype).numpy())
    print(f"{number} as {dtype.name}:", " and ".join(map(str, found)))
    assert len(found) == values
PYTHON
