import { type Tensor, tensor } from "@mp/graph";
import { matMul, mul, reduceMean, softmax, sub } from "@mp/graph/ops";
import { describe, expect, it } from "vitest";
import type { Accumulation, Accumulators } from "../../../graph/src/contract/manifest.js";
import { halfSumsBackend } from "../../../graph/test/half-sums.js";
import { wave } from "../../test/small-run.js";
import { sgd } from "../optim/sgd.js";
import { mixed, mixedBfloat16, mixedFloat16, type PrecisionChoice } from "../precision/presets.js";
import { trainer } from "../train/trainer.js";

const exact: Accumulators = { f32: "f32", f16: "f32", bf16: "f32" };
const narrow: Accumulators = { f32: "f32", f16: "f16", bf16: "bf16" };
const WIDE = 5000;

/** Trains a softmax and a product over 5000 elements; the backend accumulates as `really` and declares `said`. */
async function train(really: Accumulation, said: Accumulation, precision: PrecisionChoice) {
  const backend = halfSumsBackend(really, { accumulate: said });
  const run = await trainer({
    backend,
    params: {
      w: wave([2, WIDE], 0.3),
      v: tensor(new Float32Array(WIDE * 2).fill(0.5), [WIDE, 2]),
    },
    loss: ({ w, v }, { x, y }: { readonly x: Tensor; readonly y: Tensor }) => {
      const error = sub(matMul(softmax(matMul(x, w)), v), y);
      return reduceMean(mul(error, error));
    },
    optimizer: sgd({ learningRate: 0.1 }),
    precision,
    onWarning: () => undefined,
  });
  const x = tensor(Float32Array.of(1, 0, 0.5, -1), [2, 2]);
  const y = tensor(Float32Array.of(1, 2, 3, 4), [2, 2]);
  const losses: number[] = [];
  for (let step = 0; step < 2; step++) losses.push((await run.step({ x, y })).loss);
  const parameters = await run.parameters();
  const { warnings } = run;
  const { name } = run.precision;
  await run.dispose();
  await backend.dispose();
  return { losses, parameters, name, warnings: warnings.map(({ message }) => message) };
}

describe("training where the engine adds up halves in halves", () => {
  it.each([
    ["f16", mixedFloat16],
    ["bf16", mixedBfloat16],
  ] as const)("is to the bit what it is where %s adds up in f32", async (half, precision) => {
    const honest = await train({ default: narrow }, { default: narrow }, precision());
    const right = await train({ default: exact }, { default: narrow }, precision());
    expect(honest).toEqual(right);
    expect(honest.warnings).toContainEqual(
      expect.stringMatching(new RegExp(`^half-sums: adds up ${half} in ${half}, .* in MatMul`)),
    );
    const hidden = await train({ default: narrow }, { default: exact }, precision());
    expect(hidden.parameters).not.toEqual(right.parameters);
  });

  it("is float32 under mixed() where products do so", async () => {
    const products: Accumulation = { default: exact, ops: { MatMul: { f16: "f16", bf16: "bf16" } } };
    const { name, warnings, losses } = await train(products, products, mixed());
    expect(name).toBe("float32");
    expect(warnings).toEqual([
      expect.stringMatching(
        /^mixed\(\): half-sums 1 on cpu adds up products of bf16 in bf16 \(MatMul\) and adds up products of f16 in f16 \(MatMul\), so everything runs in float32;/,
      ),
    ]);
    expect(losses).toEqual((await train({ default: exact }, products, mixed())).losses);
  });

  it("takes the half under mixed() that is right", async () => {
    const onlyBf16: Accumulation = { default: { ...exact, bf16: "bf16" } };
    const { name, ...run } = await train(onlyBf16, onlyBf16, mixed());
    expect(name).toBe("mixed_float16");
    expect({ name, ...run }).toEqual(await train({ default: exact }, onlyBf16, mixed()));
  });

  it("takes a half under mixed() whose products are right, and keeps its other sums out of it", async () => {
    const others: Accumulation = {
      default: narrow,
      ops: Object.fromEntries(
        ["MatMul", "Gemm", "Einsum", "Conv", "ConvTranspose", "ConvWeightGradient"].map((op) => [op, exact]),
      ),
    };
    const { name, ...run } = await train(others, others, mixed());
    expect(name).toBe("mixed_bfloat16");
    expect({ name, ...run }).toEqual(await train({ default: exact }, others, mixed()));
    expect(await train(others, { default: exact }, mixed())).not.toEqual({ name, ...run });
  });
});
