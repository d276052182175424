"""What the peers share: data and weights out of the integer hash, and the loop that times steps.

A peer takes one JSON job {workload, precision, sizes, device, threads, warmup, steps, seconds} as its argument and prints
one JSON report as its last line, in the form that the TypeScript side prints too.
"""

import json
import os
import resource
import sys
import time

import numpy as np


def refuse(message, **more):
    print(json.dumps({"error": message, **more}))
    sys.exit(1)


def hash_32(seed, count):
    """murmur3's finalizer over index · golden ratio + seed · k, modulo 2^32."""
    value = np.arange(count, dtype=np.uint32) * np.uint32(0x9E3779B1)
    value += np.uint32(seed * 0x85EBCA77 & 0xFFFFFFFF)
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
        value ^= value >> np.uint32(shift)
        value *= np.uint32(factor)
    return value ^ (value >> np.uint32(16))


def uniform(seed, shape, limit):
    unit = (hash_32(seed, int(np.prod(shape))) >> np.uint32(8)).astype(np.float64) * 2.0**-24
    return ((2 * unit - 1) * limit).astype(np.float32).reshape(shape)


def tokens(seed, shape, vocabulary):
    return (hash_32(seed, int(np.prod(shape))) % np.uint32(vocabulary)).astype(np.int32).reshape(shape)


class InitialValues:
    """Parameters one after the other; each takes the next seed, constants too."""

    def __init__(self):
        self.seed = 100

    def uniform(self, shape, limit):
        value = uniform(self.seed, shape, limit)
        self.seed += 1
        return value

    def skip(self, count=1):
        self.seed += count

    def zeros(self, *shape):
        self.skip()
        return np.zeros(shape, np.float32)

    def ones(self, *shape):
        self.skip()
        return np.ones(shape, np.float32)


def busy_seconds():
    """Of all processors since boot, less this process's own; None where the system does not tell."""
    try:
        with open("/proc/stat", encoding="ascii") as stat:
            fields = [int(field) for field in stat.readline().split()[1:9]]
    except OSError:
        return None
    own = os.times()
    return (sum(fields) - fields[3] - fields[4]) / 100 - own.user - own.system


def run(name, prepare, versions, out_of_memory=MemoryError):
    """
    `prepare(job)` builds the model and gives the step, a function without arguments that gives the loss;
    `out_of_memory` is what it raises where the memory does not suffice.
    """
    job = json.loads(sys.argv[1])
    try:
        print(json.dumps(report_of(name, job, prepare, versions)))
    except (MemoryError, out_of_memory) as error:
        refuse(f"{name}: {error}", code="MP_OUT_OF_MEMORY")


def report_of(name, job, prepare, versions):
    halves = ("mixed_bfloat16", "mixed_float16") if job["device"] == "cuda" else ("mixed_bfloat16",)
    if job["precision"] not in ("float32", *halves):
        refuse(f"{name}: float32 and {' and '.join(halves)} are run on {job['device']}, not {job['precision']}")
    began = time.perf_counter()
    step = prepare(job)
    losses = [step() for _ in range(job["warmup"])]
    start_seconds = time.perf_counter() - began
    milliseconds = []
    busy, began = busy_seconds(), time.perf_counter()
    while len(milliseconds) < job["steps"] and (
        len(milliseconds) < 3 or time.perf_counter() - began < job["seconds"]
    ):
        before = time.perf_counter()
        losses.append(step())
        milliseconds.append(round((time.perf_counter() - before) * 1000, 3))
    elapsed, after = time.perf_counter() - began, busy_seconds()
    return {
        "milliseconds": milliseconds,
        "losses": [round(float(loss), 6) for loss in losses],
        "startSeconds": round(start_seconds, 2),
        "peakResidentBytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        "otherCores": None if busy is None else round(max(0.0, after - busy) / elapsed, 2),
        "versions": {**versions, "python": sys.version.split()[0]},
    }
