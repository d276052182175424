// Bugs that others reported, in parts of language models. Names begin with the report, as docs/public-bugs.md lists it.
import {
  autocast,
  bfloat16,
  float16,
  float32,
  mixedBfloat16,
  mixedFloat16,
  type Precision,
  type Tensor,
  tensor,
} from "@mp/core";
import { expect, it } from "vitest";
import { numbers, run } from "../../nn/test/run-layer.js";
import { anglesAt } from "../src/decoders/rotary.js";

const POSITIONS = [4095, 15_962, 131_071];
const FREQUENCIES = tensor(Float32Array.of(1, 0.1, 1e-3));

it.each<Precision>([float32(), mixedFloat16(), mixedBfloat16(), float16(), bfloat16()])(
  "sglang-jax#1472, UNI-D2#6: angles of distant positions are those of float32 under $name",
  ({ policy }) => {
    const { cosine, sine } = run(
      { positions: tensor(Int32Array.from(POSITIONS), [1, 3]) },
      ({ positions }) => autocast((at: Tensor) => anglesAt(at, FREQUENCIES), policy)(positions),
      { arithmetic: "exact" },
    ) as unknown as Record<"cosine" | "sine", never>;
    const angles = POSITIONS.flatMap((at) => [...FREQUENCIES.data].map((x) => Math.fround(at * x)));
    // A result in bfloat16 is off by 2^-9 at most.
    for (const [got, want] of [
      [numbers(cosine), angles.map(Math.cos)],
      [numbers(sine), angles.map(Math.sin)],
    ] as const)
      for (const [index, x] of want.entries()) expect(Math.abs((got[index] ?? 9) - x)).toBeLessThan(2 ** -8);
  },
);
