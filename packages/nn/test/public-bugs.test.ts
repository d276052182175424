// Bugs that others reported, in layers. Names begin with the report, as docs/public-bugs.md lists it.
import { mixedBfloat16, mixedFloat16, type Precision, sgd, tensor, trainer } from "@mp/core";
import { matMul, reduceSum } from "@mp/core/ops";
import { reference } from "@mp/core/reference";
import { expect, it } from "vitest";
import { mergeWeight } from "../src/adapters/merge.js";
import { batchNorm } from "../src/index.js";

it.each<Precision>([mixedFloat16(), mixedBfloat16()])(
  "coreai-torch#54: a running variance beyond float16 normalizes in float32 under $name",
  async (precision) => {
    const norm = batchNorm(1, { epsilon: 1e-5 });
    const training = await trainer({
      backend: await reference(),
      params: {
        w: tensor(Float32Array.of(1), [1, 1]),
        norm: { scale: tensor(Float32Array.of(1)), bias: tensor(Float32Array.of(0)) },
      },
      modelState: { mean: tensor(Float32Array.of(0)), variance: tensor(Float32Array.of(70_000)) },
      loss: ({ w, norm: params }, { x }: { readonly x: never }, context) => {
        const [y, modelState] = norm.apply(params, matMul(x, w), context as never);
        return { loss: reduceSum(matMul(y, w)), modelState };
      },
      optimizer: sgd({ learningRate: 0.1 }),
      precision,
      onWarning: () => undefined,
    });
    const { loss } = await training.evaluate({ x: tensor(Float32Array.of(264.6), [1, 1]) } as never);
    expect(loss).toBeCloseTo(1, 2);
    await training.dispose();
  },
);

it("openagents#9456: adapters are added to the base in float32, not rounded before", () => {
  const [count, scale] = [64, 0.5];
  const wave = (step: number, size: number) =>
    Float32Array.from({ length: size }, (_, i) => Math.sin(step * (i + 1)));
  const [base, up, down] = [wave(0.7, count * count), wave(1.3, count), wave(2.1, count)];
  const merged = mergeWeight(
    {
      down: tensor(down, [1, count]),
      up: tensor(up, [count, 1]),
      part: { weight: tensor(base, [count, count]) },
      place: { path: "w", inputs: count, outputs: count, isInputsFirst: false },
      isAlone: true,
    } as never,
    scale,
  );
  for (const [at, got] of (merged.data as Float32Array).entries()) {
    const delta = scale * (up[Math.floor(at / count)] as number) * (down[at % count] as number);
    expect(got).toBe(Math.fround((base[at] as number) + delta));
  }
});
