import {
  float8,
  float32,
  mixedBfloat16,
  mxfp8,
  nvfp4,
  type Precision,
  sgd,
  type Tensor,
  tensor,
  trainer,
} from "@mp/core";
import { matMul, reduceMean } from "@mp/core/ops";
import { reference } from "@mp/core/reference";
import { expect, it } from "vitest";
import { operandBytes } from "./operand-bytes.js";

const scopes = { "": true };
it.each<[Precision, bits: number]>([
  [float32(), 32],
  [mixedBfloat16(), 16],
  [float8({ scopes }), 8],
  [mxfp8({ scopes }), 8.25],
  [nvfp4({ scopes, squareWeights: false }), 4.5],
])("counts input, weight and gradient at the width that $name gives them", async (precision, bits) => {
  await using training = await trainer({
    backend: await reference(),
    params: { w: tensor(new Float32Array(32 * 64), [32, 64]) },
    loss: ({ w }, { x }: { readonly x: Tensor }) => reduceMean(matMul(x, w)),
    optimizer: sgd({ learningRate: 0.1 }),
    precision,
  });
  const batch = { x: tensor(new Float32Array(16 * 32), [16, 32]) };
  expect(operandBytes(training, batch)).toBe(((16 * 32 + 32 * 64 + 16 * 64) * bits) / 8);
});
