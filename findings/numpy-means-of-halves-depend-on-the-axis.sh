#!/usr/bin/env bash
# numpy 2.4.6 and ml_dtypes 0.6.0: a sum of float16 along the first axis stops at 2048, one along the last does not, and
# the mean of 1000 bfloat16 ones is 0.256.
#
# np.sum adds float16 pairwise along the axis that is contiguous, and row after row, each sum rounded to float16, along
# the others: 2048 + 1 is 2048. np.mean sums float16 in float32, but not the bfloat16 of ml_dtypes, for which it has no
# rule: that sum stops at 256, without a warning, and the mean is wrong by a factor that grows with the length.
# dtype=np.float32 gives all of them.
#
# Seen with numpy 2.4.6, ml_dtypes 0.6.0 and Python 3.11 on x86-64:
#   sum of 4096 float16 ones: 4096.0, along the first axis of [4096, 2]: 2048.0, of [2, 4096] along the last: 4096.0
#   mean of 1000 bfloat16 ones: 0.255859, in float32: 1.0
#
# Fails where this has changed.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check numpy==2.4.6 ml_dtypes==0.6.0
"$folder/venv/bin/python" - <<'PYTHON'
import ml_dtypes
import numpy as np

print("numpy", np.__version__, "ml_dtypes", ml_dtypes.__version__)
ones = np.ones((4096, 2), np.float16)
flat, first, last = ones[:, 0].copy().sum(), ones.sum(0)[0], np.ones((2, 4096), np.float16).sum(1)[0]
print(f"sum of 4096 float16 ones: {flat}, along the first axis of [4096, 2]: {first}, "
      f"of [2, 4096] along the last: {last}")
brain = np.ones(1000, ml_dtypes.bfloat16)
mean, wide = brain.mean(), brain.mean(dtype=np.float32)
print(f"mean of 1000 bfloat16 ones: {mean}, in float32: {wide}")
assert flat == last == 4096 and first == 2048
assert float(mean) < 0.26 and wide == 1
PYTHON
