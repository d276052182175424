#!/usr/bin/env bash
# PyTorch 2.15.0: on the processor, infinity cast to float8_e4m3fn is 448; cast to float8_e5m2 it stays infinite.
#
# The cast to float8_e4m3fn saturates, infinities too, and the cast to float8_e5m2 does not. A check for overflow after the
# cast, such as a loss scaler's, therefore finds an infinite gradient in the one format and not in the other. ml_dtypes
# gives NaN and infinity; onnx.reference saturates both formats or neither, as its attribute says.
#
# Seen with torch 2.15.0, ml_dtypes 0.6.0, numpy 2.4.6 and Python 3.11 on Linux x64, on the processor:
#                     465   65536     inf    -inf     nan
#  float8_e4m3fn      448     448     448    -448     nan   torch
#                     nan     nan     nan     nan     nan   ml_dtypes
#  float8_e5m2        448     inf     inf    -inf     nan   torch
#                     448     inf     inf    -inf     nan   ml_dtypes
#
# Fails where this has changed.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check torch==2.15.0 ml_dtypes==0.6.0 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import ml_dtypes
import numpy as np
import torch

print("torch", torch.__version__, " ml_dtypes", ml_dtypes.__version__)
x = np.array([465, 65536, np.inf, -np.inf, np.nan], np.float32)
cases = {
    "float8_e4m3fn": ([448, 448, 448, -448, np.nan], [np.nan] * 5),
    "float8_e5m2": ([448, np.inf, np.inf, -np.inf, np.nan],) * 2,
}
for name, seen in cases.items():
    of_torch = torch.from_numpy(x).to(getattr(torch, name)).float().numpy()
    of_ml = x.astype(getattr(ml_dtypes, name)).astype(np.float32)
    for title, library, got, wanted in ((name, "torch", of_torch, seen[0]), ("", "ml_dtypes", of_ml, seen[1])):
        print(f"{title:13}", *("%7g" % number for number in got), "  " + library)
        assert np.array_equal(got, np.array(wanted, np.float32), equal_nan=True)
PYTHON
