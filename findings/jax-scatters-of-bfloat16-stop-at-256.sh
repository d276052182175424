#!/usr/bin/env bash
# jax 0.10.2 (XLA): jnp.sum adds bfloat16 up in float32, and the same sum as segment_sum or .at[].add does not.
#
# 5000 ones of bfloat16: jnp.sum gives 4992, which is 5000 in bfloat16. jax.ops.segment_sum into one segment, and
# .at[indices].add, add each one to the bfloat16 that is there: at 256 the next 1 is lost, and the result is 256.
# float16 stops at 2048. This is the gradient of an embedding: a word that occurs more often than that in a batch gets no
# more gradient. Converting to float32 before, and back after, mends it.
#
# Seen with jaxlib 0.10.2, numpy 2.4.6 and Python 3.11 on x86-64 (Intel), on the processor:
#   bfloat16  sum 4992  segment_sum 256   at add 256   through float32 4992
#   float16   sum 5000  segment_sum 2048  at add 2048  through float32 5000
#
# Fails where this has changed.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check jax==0.10.2 jaxlib==0.10.2 numpy==2.4.6
JAX_PLATFORMS=cpu "$folder/venv/bin/python" - <<'PYTHON'
import jax
import jax.numpy as jnp

print("jax", jax.__version__)
for half, stop in ((jnp.bfloat16, 256), (jnp.float16, 2048)):
    ones = jnp.ones(5000, half)
    segment = jnp.zeros(5000, jnp.int32)
    wanted = int(jnp.sum(ones))
    segments = int(jax.ops.segment_sum(ones, segment, 1)[0])
    added = int(jnp.zeros(1, half).at[segment].add(ones)[0])
    wide = int(jax.ops.segment_sum(ones.astype(jnp.float32), segment, 1)[0].astype(half))
    print(f"{half.__name__:9} sum {wanted}  segment_sum {segments}  at add {added}  through float32 {wide}")
    assert (wanted, segments, added, wide) == (int(half(5000)), stop, stop, int(half(5000)))
PYTHON
