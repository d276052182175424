#!/usr/bin/env bash
# TensorFlow 2.21.0: with oneDNN, x * sigmoid(x) becomes one kernel, and the sigmoid is gone from the graph also where
# the caller fetches it. The run fails: "Tensor s:0, specified in either feed_devices or fetch_devices was not found".
#
# oneDNN is on by default on processors with AVX512-VNNI and what came after, so that the same program runs on an older
# machine. Graphs of three nodes are left as they are: x, sigmoid and product alone run. A fetch through tf.identity keeps
# the sigmoid, and so does TF_ENABLE_ONEDNN_OPTS=0.
#
# Seen with tensorflow-cpu 2.21.0, numpy 2.4.6 and Python 3.11 on x86-64:
#   oneDNN 1, nodes 3, by identity no: runs
#   oneDNN 1, nodes 4, by identity no: fails
#   oneDNN 1, nodes 4, by identity yes: runs
#   oneDNN 0, nodes 4, by identity no: runs
#
# Fails where this has changed.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check tensorflow-cpu==2.21.0 numpy==2.4.6
cat >"$folder/swish.py" <<'PYTHON'
import sys

import numpy as np
import tensorflow as tf

nodes, by_identity = int(sys.argv[1]), sys.argv[2] == "yes"
with tf.Graph().as_default():
    x = tf.compat.v1.placeholder(tf.float32, [64])
    s = tf.sigmoid(x, name="s")
    results = [tf.identity(s) if by_identity else s, tf.multiply(x, s)]
    if nodes == 4:
        results.append(tf.negative(x))
    with tf.compat.v1.Session() as session:
        try:
            got = session.run(results, {x: np.ones(64, np.float32)})
            assert all(abs(float(each[0]) - 0.7310586) < 1e-6 for each in got[:2])
            print("runs")
        except tf.errors.InvalidArgumentError as error:
            assert "was not found in the Graph" in str(error)
            print("fails")
PYTHON
try() {
  local said
  said=$(TF_ENABLE_ONEDNN_OPTS=$1 TF_CPP_MIN_LOG_LEVEL=3 "$folder/venv/bin/python" "$folder/swish.py" "$2" "$3" 2>/dev/null)
  echo "oneDNN $1, nodes $2, by identity $3: $said"
  [[ $said == "$4" ]]
}
"$folder/venv/bin/python" -c 'import tensorflow; print("tensorflow", tensorflow.__version__)' 2>/dev/null
try 1 3 no runs
try 1 4 no fails
try 1 4 yes runs
try 0 4 no runs
