"""Prints what bitsandbytes 0.50 makes of weights on a processor: codes and scales of int8 by rows and of NF4 with double
quantization, and the numbers that they stand for. The fixture of the tests of quantized bases. Needs torch and bitsandbytes:

    python quantized_weights.py > ../../packages/nn/test/fixtures/quantized-weights.json

Arrays are base64 of their bytes. PyTorch runs on one thread: with more, the mean of more than 32 767 scales has another
last bit. Of a row that is a multiple of 16 but not of 64 long, the library's AVX-512 path takes the scale of another block;
here the same operator in PyTorch decodes them.
"""

import base64
import json
import sys

import numpy as np
import torch
from bitsandbytes import functional
from bitsandbytes.backends.default.ops import _dequantize_4bit_compute
from bitsandbytes.functional import get_4bit_type


def edges(shape, generator):
    """Zeros, ties, subnormal numbers, and one huge number in a block."""
    x = torch.randn(shape, generator=generator).flatten()
    code = get_4bit_type("nf4", device="cpu")
    ties = (code[:-1] + code[1:]) / 2
    x[:64] = 0
    x[64:128] = 0.5
    x[64:79] = ties
    x[127] = 1
    x[128:192] *= 1e-39
    x[192:256] *= 1e-42
    x[256] = 3e38
    x[320:384] *= 1e-45
    x[384:448] = torch.arange(64) - 31.5
    x[447] = 127
    return x.reshape(shape)


def numbers(name, shape, generator):
    draw = lambda: torch.randn(shape, generator=generator)
    return {
        "normal": lambda: draw() * 0.02,
        "heavy": lambda: draw() ** 5,
        "uniform": lambda: torch.rand(shape, generator=generator) - 0.5,
        "half": lambda: (draw() * 0.05).half().float(),
        "bfloat16": lambda: draw().bfloat16().float(),
        "zeros": lambda: draw() * 0,
        "sparse": lambda: draw() * (torch.rand(shape, generator=generator) < 0.02),
        "edges": lambda: edges(shape, generator),
    }[name]()


def quantized(x):
    """Codes, scales and decoded numbers in both formats."""
    int8, rows, _ = functional.int8_vectorwise_quant(x.clone())
    nf4, state = functional.quantize_4bit(x, blocksize=64, compress_statistics=True, quant_type="nf4")
    absmax = functional.dequantize_blockwise(state.absmax, state.state2) + state.offset
    if x.shape[-1] % 64 == 0 or x.shape[-1] % 16 != 0:
        decoded = functional.dequantize_4bit(nf4, state)
    else:
        decoded = _dequantize_4bit_compute(nf4.flatten(), absmax, state.code, 64, x.shape, torch.float32)
    return {
        "int8": {"int8": int8, "absmax": rows, "decoded": functional.int8_vectorwise_dequant(int8, rows)},
        "nf4": {
            "nf4": nf4.flatten(), "absmax": state.absmax, "nestedAbsmax": state.state2.absmax,
            "offset": state.offset.reshape(1), "decoded": decoded.reshape(x.shape),
        },
    }


CASES = [
    ("normal", (6, 64)), ("normal", (3, 24)), ("normal", (10, 48)), ("heavy", (5, 128)), ("uniform", (7, 34)),
    ("half", (3, 192)), ("bfloat16", (4, 96)), ("zeros", (2, 64)), ("sparse", (300, 2)), ("edges", (8, 64)),
    ("edges", (15, 34)),
]

LARGE = [
    (name, shape)
    for name in ("normal", "heavy", "uniform", "half", "bfloat16", "sparse", "edges")
    for shape in ((1024, 1024), (1000, 1000), (333, 3002), (62_500, 16))
]


def packed(tensor):
    return base64.b64encode(tensor.contiguous().numpy().tobytes()).decode()


def cases(chosen):
    generator = torch.Generator().manual_seed(29)
    for name, shape in chosen:
        x = numbers(name, shape, generator)
        yield name, shape, x, quantized(x)


if __name__ == "__main__":
    torch.set_num_threads(1)
    if sys.argv[1:] and sys.argv[1] == "large":
        # One file a case into a folder, for a comparison of millions of numbers by hand.
        for at, (name, shape, x, formats) in enumerate(cases(LARGE)):
            json.dump({"name": name, "shape": shape, "weight": packed(x), **{
                form: {key: packed(value) for key, value in parts.items()} for form, parts in formats.items()
            }}, open(f"{sys.argv[2]}/{at:02}.json", "w"))
    else:
        print(json.dumps([
            {"name": name, "shape": shape, "weight": packed(x), **{
                form: {key: packed(value) for key, value in parts.items()} for form, parts in formats.items()
            }}
            for name, shape, x, formats in cases(CASES)
        ]))
