import { mixedFloat16, sgd, trainer } from "@mp/core";
import { applyGraph, full, type Tensor } from "@mp/graph";
import { add, reduceMean } from "@mp/graph/ops";
import { reference } from "@mp/graph/reference";
import { describe, expect, it } from "vitest";
import { fixture } from "../test/fixtures.js";
import { decodeModel } from "./decode.js";
import { readGraph } from "./read/read.js";

describe("a model that was read", () => {
  it("trains in mixed precision: its products are halves, and its parameters move", async () => {
    const { graph, parameters } = readGraph(decodeModel(fixture("mlp")), { sizes: { batch: 2, length: 3 } });
    const given = graph.inputs.filter(({ name }) => !Object.hasOwn(parameters, name));
    const batch = Object.fromEntries(given.map(({ name, value }) => [name, full(value.shape, 1)]));
    const training = await trainer({
      backend: await reference(),
      params: parameters,
      loss: (weights, given) => {
        const outputs = Object.values(applyGraph(graph, { ...weights, ...given } as Record<string, Tensor>));
        return outputs.map((output) => reduceMean(output)).reduce(add);
      },
      optimizer: sgd({ learningRate: 0.01 }),
      precision: mixedFloat16(),
      onWarning: () => undefined,
    });
    const products = training.explain(batch).nodes.filter(({ op }) => op === "MatMul" || op === "Gemm");
    expect(products.length).toBeGreaterThan(0);
    for (const { dtype } of products) expect(dtype).toBe("f16");
    const first = await training.step(batch);
    expect(first.applied).toBe(true);
    expect((await training.step(batch)).loss).toBeLessThan(first.loss);
    expect(await training.parameters()).not.toEqual(parameters);
    await training.dispose();
  });
});
