"""Prints what TensorBoard's own reader has of a folder of event files, as JSON: by tag, [step, value] of scalars, and
histograms and texts likewise. Run by tensor-board.test.ts with the Python that has TensorBoard (MP_PYTHON)."""

import json
import sys

import tensorboard
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

events = EventAccumulator(sys.argv[1], size_guidance={"scalars": 0, "histograms": 0, "tensors": 0})
events.Reload()
tags = events.Tags()
read = {
    "version": tensorboard.__version__,
    "scalars": {tag: [[event.step, event.value] for event in events.Scalars(tag)] for tag in tags["scalars"]},
    "histograms": {
        tag: [
            [event.step, event.histogram_value.num, event.histogram_value.bucket_limit, event.histogram_value.bucket]
            for event in events.Histograms(tag)
        ]
        for tag in tags["histograms"]
    },
    "texts": {
        tag: [[event.step, event.tensor_proto.string_val[0].decode()] for event in events.Tensors(tag)]
        for tag in tags["tensors"]
    },
}
print(json.dumps(read))
