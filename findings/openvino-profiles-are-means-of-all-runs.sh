#!/usr/bin/env bash
# openvino 2026.4.1: the profile of a run is the mean over all runs of the compiled model.
#
# `get_profiling_info` of a request is documented as the performance counts of the last inference. On the processor the
# counters belong to the compiled model, and the time of a node is its sum over all runs divided by their number: a slow
# first run stays in every later profile, a new request for the same compiled model changes nothing, and the nodes' times
# can add up to more than the run took. Compile the model again for a profile of one run.
#
# Seen with openvino 2026.4.1, numpy 2.4.6 and Python 3.11 on Linux x64 (Intel Xeon), for a product of [rows, 512] by
# [512, 512], in microseconds:
#   1 row, on its own                   352
#   1 row, after a run of 20 000    250 080
#   20 000 rows, on their own       635 957
# (on a busy machine; the proportions matter)
#
# Fails where this has changed.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check openvino==2026.4.1 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import numpy as np
import openvino as ov
from openvino import opset15 as ops

x = ops.parameter([-1, 512], np.float32)
weights = np.random.default_rng(1).standard_normal((512, 512), np.float32)
model = ov.Model([ops.matmul(x, ops.constant(weights), False, False)], [x])
print("openvino", ov.get_version())


def profiled(*rows):
    """Microseconds of the products, in the profile of the last of several runs, each in a request of its own."""
    compiled = ov.Core().compile_model(model, "CPU", {"PERF_COUNT": True})
    for count in rows:
        request = compiled.create_infer_request()
        request.infer([np.ones((count, 512), np.float32)])
    times = [row.real_time.total_seconds() * 1e6 for row in request.get_profiling_info() if row.node_type != "Parameter"]
    return sum(times)


one, both, many = profiled(1), profiled(20000, 1), profiled(20000)
print(f"1 row, on its own              {one:9.0f}")
print(f"1 row, after a run of 20 000   {both:9.0f}")
print(f"20 000 rows, on their own      {many:9.0f}")
assert one < both / 10 and many / 10 < both < many
PYTHON
