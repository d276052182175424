"""Writes optimizer-states.json: what AdamW of bitsandbytes and of optax keeps of moments in 8 and 16 bits after the same
gradients. Needs torch, bitsandbytes 0.50, jax and optax:

    python optimizer_states.py > ../../packages/core/test/fixtures/optimizer-states.json

The gradients come out of the integer hash, so that the tests make the same ones without this file. bitsandbytes'
quantizer on a processor looks codes up in a table of 65 536 evenly spaced places, which has no place below 2^-17; codes of
what it is given in float64 are those of the nearest numbers of its map, as on a GPU. The fixture has the latter, and the
share of codes that differ.
"""

import base64
import hashlib
import json

import numpy as np
import torch
import bitsandbytes as bnb
from bitsandbytes.backends.cpu import ops as cpu

from peer import hash_32, uniform

SHAPE = (60, 70)
COUNT = 60 * 70
STEPS = 200
KEPT = (1, 20, 200)
BETAS = (0.9, 0.999)
RATE, EPSILON, DECAY = 0.01, 1e-8, 0.01


def gradient(step):
    """Nearly normal, of magnitudes that differ from element to element; exact in float32."""
    parts = sum((hash_32(4 * step + part, COUNT) >> np.uint32(16)).astype(np.int64) for part in range(4))
    magnitudes = 2.0 ** -(hash_32(999, COUNT) % np.uint32(9)).astype(np.float64)
    return ((parts - 131070) * 2.0**-17 * magnitudes).astype(np.float32)


def packed(array):
    data = np.ascontiguousarray(array).tobytes()
    return {"sha256": hashlib.sha256(data).hexdigest(), "base64": base64.b64encode(data).decode()}


def in_8_bits(quantized):
    maps = [bnb.functional.create_dynamic_map(signed) for signed in (True, False)]
    blocks = -(-COUNT // 256)
    states = [torch.zeros(COUNT, dtype=torch.uint8) for _ in maps]
    largest = [torch.zeros(blocks) for _ in maps]
    # Of zeros, as this library starts them: bitsandbytes starts with codes of 0, which its maps have elsewhere.
    for state, code in zip(states, maps):
        state.fill_(int((code == 0).nonzero()[0]))
    weights = torch.from_numpy(uniform(7, (COUNT,), 1.0))
    cpu._quant_blockwise_fp32_direct = quantized
    kept = {}
    for step in range(1, STEPS + 1):
        cpu._optimizer_update_8bit_blockwise_cpu(
            "adam", torch.from_numpy(gradient(step)), weights, *states, *BETAS, 0.0, 0.0, EPSILON, step, RATE,
            *maps, *largest, DECAY, 1.0,
        )
        if step in KEPT:
            kept[step] = [each.numpy().copy() for each in (*states, *largest, weights)]
    return kept


def nearest(values, code, largest, out, size):
    codes, most = torch.ops.bitsandbytes.quantize_blockwise(values.double(), code, size)
    out.copy_(codes)
    largest.copy_(most)


def in_bfloat16():
    """A decay in float32 keeps products of the moments in float32; one that is a Python number rounds them to bfloat16."""
    import jax.numpy as jnp
    import optax

    optimizer = optax.scale_by_adam(jnp.float32(0.875), BETAS[1], EPSILON, mu_dtype=jnp.bfloat16)
    state = optimizer.init(jnp.zeros(COUNT, jnp.float32))
    kept = {}
    for step in range(1, STEPS + 1):
        _, state = optimizer.update(jnp.asarray(gradient(step)), state)
        if step in KEPT:
            kept[step] = np.asarray(state.mu).view(np.uint16)
    return kept


def main():
    exact, table = in_8_bits(nearest), in_8_bits(cpu_quantizer)
    names = ("mean", "square", "mean.absmax", "square.max", "weights")
    mean, square = [float((exact[STEPS][at] != table[STEPS][at]).mean()) for at in (0, 1)]
    report = {
        "versions": {"bitsandbytes": bnb.__version__, "torch": torch.__version__},
        "tableDiffers": {"mean": mean, "square": square},
        "u8": {step: {name: packed(value) for name, value in zip(names, kept)} for step, kept in exact.items()},
        "bf16": {step: packed(value) for step, value in in_bfloat16().items()},
    }
    print(json.dumps(report, indent=2))


cpu_quantizer = cpu._quant_blockwise_fp32_direct

if __name__ == "__main__":
    main()
