"""Runs the SavedModel of a step and prints how long each kind of kernel took, by TensorFlow's own trace.

Takes one JSON job {folder, runs, threads, steps}: `runs` are the combinations of nodes that were fed and fetched, the
step's last among them. What is fed is random, labels and indices small; times do not depend on it.
"""

import collections
import json
import os
import sys
import time

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import numpy as np
import tensorflow as tf
from tensorflow.core.protobuf import saved_model_pb2

tf1 = tf.compat.v1
SMALLEST_LABELS = 5


def values_for(graph, names):
    random = np.random.RandomState(0)

    def value(tensor):
        shape, dtype = tensor.shape.as_list(), tensor.dtype.as_numpy_dtype
        if tensor.dtype == tf.int32:
            return random.randint(0, SMALLEST_LABELS, shape) if np.prod(shape) > 4 else np.zeros(shape, dtype)
        return np.asarray((random.rand(*shape) - 0.5) * 0.1, dtype)

    tensors = [graph.get_tensor_by_name(name) for name in names]
    return {tensor: value(tensor) for tensor in tensors}


def trace(job):
    model = saved_model_pb2.SavedModel()
    with open(os.path.join(job["folder"], "saved_model.pb"), "rb") as file:
        model.ParseFromString(file.read())
    tf.import_graph_def(model.meta_graphs[0].graph_def, name="")
    graph = tf1.get_default_graph()
    threads = job["threads"]
    session = tf1.Session(
        config=tf1.ConfigProto(intra_op_parallelism_threads=threads, inter_op_parallelism_threads=threads)
    )
    for run in job["runs"][:-1]:
        session.run(run["fetched"], values_for(graph, run["fed"]))
    fetched, fed = job["runs"][-1]["fetched"], values_for(graph, job["runs"][-1]["fed"])
    step = session.make_callable(fetched, feed_list=list(fed))
    values = list(fed.values())
    milliseconds = []
    for _ in range(job["steps"]):
        before = time.perf_counter()
        step(*values)
        milliseconds.append((time.perf_counter() - before) * 1000)
    metadata = tf1.RunMetadata()
    options = tf1.RunOptions(trace_level=tf1.RunOptions.FULL_TRACE)
    session.run(fetched, fed, options=options, run_metadata=metadata)
    spent, counts = collections.Counter(), collections.Counter()
    for device in metadata.step_stats.dev_stats:
        for node in device.node_stats:
            op = node.timeline_label.split(" = ")[-1].split("(")[0]
            spent[op] += node.op_end_rel_micros - node.op_start_rel_micros
            counts[op] += 1
    kernels = [
        {"op": op, "count": counts[op], "milliseconds": round(micros / 1000, 3)} for op, micros in spent.most_common()
    ]
    return {
        "milliseconds": round(float(np.median(milliseconds)), 1),
        "kernels": kernels,
        "versions": {"tensorflow": tf.__version__},
    }


tf1.disable_eager_execution()
print(json.dumps(trace(json.loads(sys.argv[1]))))
