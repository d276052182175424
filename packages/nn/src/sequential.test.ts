import {
  adamW,
  type HostTensor,
  isHostTensor,
  key,
  mapTree,
  mixedFloat16,
  scope,
  type Tensor,
  tensor,
  trainer,
} from "@mp/core";
import { add, reduceMean, relu, reshape } from "@mp/core/ops";
import { reference } from "@mp/core/reference";
import { describe, expect, it } from "vitest";
import { numbers, run, shapeOf } from "../test/run-layer.js";
import { dense, dropout, layerNorm, sequential, softmaxCrossEntropy, summary, tanh } from "./index.js";

const x = tensor(
  Float32Array.from({ length: 12 }, (_, i) => Math.sin(i + 1)),
  [3, 4],
);

describe("sequential", () => {
  const model = sequential(dense(4, 8), relu, dropout(0.5), sequential(layerNorm(8), dense(8, 2)), tanh);

  it("passes through layers and functions in order", () => {
    const params = model.init(key(1));
    expect(mapTree(params, isHostTensor, ({ shape }) => shape.join())).toEqual([
      { kernel: "4,8", bias: "8" },
      {},
      {},
      [
        { scale: "8", bias: "8" },
        { kernel: "8,2", bias: "2" },
      ],
      {},
    ]);
    const context = { training: false, key: key(0) };
    const got = run({ params, x }, (t) => model.apply(t.params, t.x, context));
    const byHand = run({ params, x }, ({ params: [first, , , [norm, last]], x }) =>
      tanh(dense(8, 2).apply(last, layerNorm(8).apply(norm, relu(dense(4, 8).apply(first, x))))),
    );
    expect(shapeOf(got)).toEqual([3, 2]);
    expect(numbers(got)).toEqual(numbers(byHand));
  });

  it("starts parts of the same kind from other numbers", () => {
    const [first, second] = sequential(dense(4, 4), dense(4, 4)).init(key(1));
    expect(first.kernel.data).not.toEqual(second.kernel.data);
  });

  it("of nothing is the identity", () => {
    expect(numbers(run({ x }, (t) => sequential().apply([], t.x)))).toEqual(Array.from(x.data));
  });

  it("trains, each part in a scope named by place and layer", async () => {
    const classifier = sequential(dense(4, 16), relu, sequential(layerNorm(16), dense(16, 3)));
    const params = classifier.init(key(4));
    const training = await trainer({
      backend: await reference(),
      params,
      loss: (weights, { x, y }, context) => softmaxCrossEntropy(classifier.apply(weights, x, context), y),
      optimizer: adamW({ learningRate: 0.05 }),
      precision: mixedFloat16(),
      onWarning: () => undefined,
    });
    const y: HostTensor = tensor(Int32Array.of(0, 1, 2));
    const losses: number[] = [];
    for (let step = 0; step < 40; step++) losses.push((await training.step({ x, y })).loss);
    expect(losses[0]).toBeGreaterThan(0.7);
    expect(losses.at(-1)).toBeLessThan(0.05);
    const report = training.explain({ x, y });
    expect(
      report.nodes.filter(({ op }) => op === "MatMul").map(({ scope, dtype }) => [scope, dtype]),
    ).toEqual([
      ["0/dense", "f16"],
      ["2/1/dense", "f16"],
    ]);
    // Labels show what each part is; the scope of a plain function is its index.
    const labels = report.nodes.map(({ op, scope, label }) => [op, scope, label].join(" "));
    expect(labels).toContain("MatMul 0/dense 0 dense/dense");
    expect(labels).toContain("Relu 1 1 relu");
    expect(labels).toContain("MatMul 2/1/dense 2 sequential/1 dense/dense");
    const { groups } = await training.precisionReport({ x, y });
    const relus = groups.filter(({ label }) => label === "1 relu").map(({ kind, layer }) => [kind, layer]);
    expect(relus).toContainEqual(["activations", "1"]);
    const { line } = report.nodes.find(({ op }) => op === "MatMul") ?? {};
    expect(line).toMatch(/sequential\.test\.ts:\d+/);
  });

  it("has the place of a plain function as its scope, for policies, node names and errors", async () => {
    const trained = async (last: (h: Tensor) => Tensor) => {
      const model = sequential(dense(4, 3), tanh, sequential(last));
      const precision = mixedFloat16();
      return await trainer({
        backend: await reference(),
        params: { head: model.init(key(4)) },
        loss: (weights, { x }: { x: Tensor }) => reduceMean(model.apply(weights.head, x)),
        optimizer: adamW({ learningRate: 0.05 }),
        precision: { ...precision, policy: precision.policy.with({ scopes: { "head/1": "f32" } }) },
        onWarning: () => undefined,
      });
    };
    const { nodes, lints } = (await trained(relu)).explain({ x });
    const functions = nodes.filter(({ op }) => op === "Tanh" || op === "Relu");
    expect(functions.map(({ node, scope, because }) => [node, scope, because])).toEqual([
      ["head/1/Tanh", "head/1", "head/1"],
      ["head/2/0/Relu", "head/2/0", "head/1/Tanh"],
    ]);
    expect(lints).toEqual([]);
    const wrong = trained((h) => reshape(h, [7])).then((training) => training.step({ x }));
    await expect(wrong).rejects.toMatchObject({ details: { scope: "head/2/0" } });
  });

  it("is named by the place of its parameters where a run has several, unless the caller has named it", async () => {
    const part = (from: number, to: number) => sequential(dense(from, 4), relu, sequential(dense(4, to)));
    const [g, d] = [part(4, 3), part(3, 1)];
    const params = { g: g.init(key(1)), nets: [d.init(key(2)), d.init(key(3))] } as const;
    const backend = await reference();
    const scopesOf = async (inner: (body: () => Tensor) => Tensor, precision = mixedFloat16()) => {
      const training = await trainer({
        backend,
        params,
        loss: (weights, { x }: { x: Tensor }) => {
          const made = inner(() => g.apply(weights.g, x));
          return reduceMean(add(d.apply(weights.nets[0], made), d.apply(weights.nets[1], made)));
        },
        optimizer: adamW({ learningRate: 0.05 }),
        precision,
        onWarning: () => undefined,
      });
      const { nodes } = training.explain({ x });
      const { layers } = summary(training.graph({ x }), { manifest: backend.manifest, precision });
      await training.dispose();
      const products = nodes
        .filter(({ op }) => op === "MatMul")
        .map(({ scope, label, dtype }) => ({ scope, label, dtype }));
      return {
        products,
        layers: layers.map(({ layer }) => layer).filter((layer) => layer.endsWith("dense")),
      };
    };
    const nets = ["nets/0/0/dense", "nets/0/2/0/dense", "nets/1/0/dense", "nets/1/2/0/dense"];
    const unnamed = await scopesOf((body) => body());
    expect(unnamed.products.map(({ scope }) => scope)).toEqual(["g/0/dense", "g/2/0/dense", ...nets]);
    expect(unnamed.products[1]?.label).toBe("g/2 sequential/0 dense/dense");
    expect(unnamed.layers).toEqual(["g/0/dense", "g/2/0/dense", ...nets]);
    const named = await scopesOf((body) => scope("maker", body));
    expect(named.products.map(({ scope }) => scope)).toEqual(["maker/0/dense", "maker/2/0/dense", ...nets]);
    const precision = mixedFloat16();
    const policy = precision.policy.with({ scopes: { "nets/1": "f32" } });
    const apart = await scopesOf((body) => body(), { ...precision, policy });
    expect(apart.products.map(({ dtype }) => dtype)).toEqual(["f16", "f16", "f16", "f16", "f32", "f32"]);
  });
});
