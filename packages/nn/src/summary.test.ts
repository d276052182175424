import { adam, float32, key, mixedFloat16, scope, type Tensor, trainer, zeros } from "@mp/core";
import { reshape } from "@mp/core/ops";
import { reference } from "@mp/core/reference";
import { describe, expect, it } from "vitest";
import {
  batchNorm,
  convolution,
  dense,
  embedding,
  formatSummary,
  globalAveragePool,
  relu,
  sequential,
  softmaxCrossEntropy,
  summary,
} from "./index.js";

async function classifier(frozen?: object) {
  const backend = await reference();
  const model = sequential(
    convolution(3, 8, 3, { padding: "same" }),
    batchNorm(8),
    relu,
    globalAveragePool,
    (x) => reshape(x, [-1, 8]),
    dense(8, 10),
  );
  const training = await trainer({
    backend,
    params: model.init(key(1)),
    modelState: model.initState(),
    loss: (params, { x, y }: { x: Tensor; y: Tensor }, context) => {
      const [logits, modelState] = model.apply(params, x, context);
      return { loss: softmaxCrossEntropy(logits, y), modelState };
    },
    optimizer: adam({ learningRate: 1e-3 }),
    precision: mixedFloat16(),
    ...(frozen === undefined ? {} : { frozen: frozen as never }),
  });
  const graph = training.graph({ x: zeros([4, 3, 8, 8]), y: zeros([4], "i32") });
  return summary(graph, { manifest: backend.manifest, precision: training.precision });
}

describe("summary", () => {
  it("has each layer with its output, parameters and dtype, and the memory of a step", async () => {
    expect(`\n${formatSummary(await classifier())}\n`).toMatchInlineSnapshot(`
      "
      layer                output        parameters  frozen  computes in
      ──────────────────────────────────────────────────────────────────
      0/conv               [4, 8, 8, 8]         224       0  f16
      1/batchNorm          [4, 8, 8, 8]          16       0  f32
      2 relu               [4, 8, 8, 8]           0       0  f32
      3 globalAveragePool  [4, 8]                 0       0  f32
      5/dense              [4, 10]               90       0  f16
      (outside layers)     []                     0       0  f32
      ──────────────────────────────────────────────────────────────────
      total                                     330       0
      memory of a step: at most 38.7 KiB at once, 3.96 KiB between steps (computed)
        masters       1.29 KiB
        optimizer     2.58 KiB
        model state   64 bytes
        batch         3.02 KiB
        half weights  628 bytes
        activations   17.8 KiB
        gradients     1.29 KiB
      "
    `);
  });

  it("counts what is frozen apart, and all parameters once", async () => {
    const { layers, parameters, frozen } = await classifier([true, false, {}, {}, {}, false]);
    expect({ parameters, frozen }).toEqual({ parameters: 16 + 90, frozen: 3 * 8 * 9 + 8 });
    expect(layers[0]).toMatchObject({ parameters: 0, frozen: 224 });
  });

  it("fits 100 columns, however deep the layers are", async () => {
    const backend = await reference();
    const [table, head] = [embedding(50_000, 16), dense(16, 9)];
    const deep = (x: Tensor, depth: number, body: (x: Tensor) => Tensor): Tensor =>
      depth === 0 ? body(x) : scope(`block-with-a-name-${depth}`, () => deep(x, depth - 1, body));
    const training = await trainer({
      backend,
      params: { table: table.init(key(1)), head: head.init(key(2)) },
      loss: (params, { ids }: { ids: Tensor }) => {
        const features = table.apply(params.table, ids);
        return softmaxCrossEntropy(
          deep(features, 9, (x) => head.apply(params.head, x)),
          ids,
        );
      },
      optimizer: adam({ learningRate: 1e-3 }),
      precision: float32(),
    });
    const graph = training.graph({ ids: zeros([2, 4], "i32") });
    const text = formatSummary(summary(graph, { manifest: backend.manifest, precision: training.precision }));
    for (const line of text.split("\n")) expect(line.length, line).toBeLessThanOrEqual(100);
    expect(text).toContain("800,000");
    expect(text).toMatch(/^….*block-with-a-name-1\/dense {2}\[2, 4, 9\] {2}/m);
  });
});
