import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { tensor } from "@mp/graph";
import { add, mul, reduceMean } from "@mp/graph/ops";
import { reference } from "@mp/graph/reference";
import { describe, expect, it } from "vitest";
import { loadTensors } from "../../src/checkpoint/files.js";
import { adamW } from "../../src/optim/adam.js";
import { kahan } from "../../src/precision/master-weights.js";
import { bfloat16, float32, mixedFloat16, type Precision } from "../../src/precision/presets.js";
import { trainer } from "../../src/train/trainer.js";
import { frozenPaths } from "../../src/train/weights/frozen.js";
import { batch, params, type SmallOptions, smallRun, stateOf } from "../small-run.js";

const optimizer = adamW({ learningRate: 0.05, weightDecay: 0.1 });

describe("frozen parameters", () => {
  const precisions: readonly (readonly [string, Precision])[] = [
    ["float32", float32()],
    ["mixed_float16", mixedFloat16()],
    ["kahan", { ...bfloat16(), masterWeights: kahan("bf16") }],
  ];
  it.each(precisions)("stay as they are while the others move: %s", async (_name, precision) => {
    for (const accumulate of [1, 2]) {
      const training = await smallRun({ frozen: { hidden: { w: true } }, optimizer, precision, accumulate });
      const before = await training.parameters();
      for (let step = 0; step < 4; step++) {
        await training.step(...Array.from({ length: accumulate }, (_, micro) => batch(step + micro)));
      }
      const after = await training.parameters();
      expect(after.hidden.w).toEqual(before.hidden.w);
      expect(after.hidden.b).not.toEqual(before.hidden.b);
      expect(after.out).not.toEqual(before.out);
      expect(Object.keys(after)).toEqual(Object.keys(before));
    }
  });

  it("have gradients and optimizer state of their own in nobody's way: the others move as they would by hand", async () => {
    // By hand: the frozen weight is a constant of the loss.
    const fixed = params().hidden.w;
    const common = { optimizer, precision: float32(), backend: await reference() };
    const byMask = await trainer({
      ...common,
      params: { w: fixed, b: params().hidden.b },
      frozen: { w: true },
      loss: ({ w, b }, { x }) => reduceMean(mul(add(mul(x, b), reduceMean(w)), b)),
    });
    const { constant } = await import("../../../graph/src/trace/ops/source.js");
    const byHand = await trainer({
      ...common,
      params: { b: params().hidden.b },
      loss: ({ b }, { x }) => reduceMean(mul(add(mul(x, b), reduceMean(constant(fixed))), b)),
    });
    const x = tensor(Float32Array.of(1, 2, 3, 4));
    for (let step = 0; step < 3; step++) expect(await byMask.step({ x })).toEqual(await byHand.step({ x }));
    expect((await byMask.parameters()).b).toEqual((await byHand.parameters()).b);
  });

  it("take no gradient, no optimizer state and no decay, and are in the checkpoint", async () => {
    const folder = await mkdtemp(join(tmpdir(), "mp-frozen-"));
    const path = join(folder, "run");
    const options: Partial<SmallOptions> = { frozen: { hidden: true }, optimizer };
    const training = await smallRun(options);
    const { gradNorm } = await training.step(batch(0));
    expect(gradNorm).toBeLessThan((await (await smallRun({ optimizer })).step(batch(0))).gradNorm);
    const graph = training.graph(batch(0));
    expect(graph.outputs.map(({ name }) => name).filter((name) => name.includes("hidden"))).toEqual([]);
    await training.save(path);
    const { tensors } = await loadTensors(path);
    expect(Object.keys(tensors).filter((name) => name.includes("/out") || name.includes("hidden"))).toEqual(
      expect.arrayContaining([
        "frozen/hidden/b",
        "frozen/hidden/w",
        "master/out",
        "optimizer/mean/out",
        "optimizer/square/out",
      ]),
    );
    expect(Object.keys(tensors).some((name) => name.startsWith("optimizer") && name.includes("hidden"))).toBe(
      false,
    );

    // They come from the file: a run that starts from other values has these afterwards.
    const other = await smallRun({
      ...options,
      params: { ...params(), hidden: { w: params().hidden.w, b: tensor(new Float32Array(4)) } },
    });
    await other.load(path);
    expect(await stateOf(other)).toEqual(await stateOf(training));
    expect(await other.step(batch(1))).toEqual(await training.step(batch(1)));
    await rm(folder, { recursive: true });
  });

  it("are seen by evaluate and predict", async () => {
    const [masked, plain] = [await smallRun({ frozen: { hidden: true } }), await smallRun()];
    expect(await masked.evaluate(batch(0))).toEqual(await plain.evaluate(batch(0)));
    const sum = await masked.predict(({ hidden, out }) => ({ b: hidden.b, out }), {});
    expect(sum).toEqual({ b: params().hidden.b, out: params().out });
  });

  it("in a half are read as they are kept", async () => {
    const training = await smallRun({ frozen: { hidden: true }, precision: bfloat16() });
    const inputs = training.graph(batch(0)).inputs.filter(({ name }) => name.startsWith("state/frozen"));
    expect(inputs.map(({ name, role, value }) => [name, role, value.dtype])).toEqual([
      ["state/frozen/hidden/b", "parameter", "bf16"],
      ["state/frozen/hidden/w", "parameter", "bf16"],
    ]);
  });
});

describe("a mask", () => {
  const tree = { a: [params().out, { b: params().out }], c: params().out };
  it.each([
    [undefined, []],
    [false, []],
    [{}, []],
    [{ a: true }, ["a/0", "a/1/b"]],
    [{ a: [true] }, ["a/0"]],
    [{ a: [undefined, { b: true }], c: false }, ["a/1/b"]],
    [{ a: { 1: true } }, ["a/1/b"]],
    [{ c: true }, ["c"]],
  ])("%j names leaves and subtrees", (mask, paths) => {
    expect([...frozenPaths(tree, mask)]).toEqual(paths);
  });

  it.each([
    [true, "frozen: every parameter is frozen, there is nothing to train"],
    [{ a: true, c: true }, /every parameter is frozen/],
    [{ xyz: true }, "frozen: the parameters have no xyz; there are a, c"],
    [{ a: { 2: true } }, "frozen at a: the parameters have no a/2"],
    [{ c: { dtype: true } }, "frozen at c: the parameters have no c/dtype"],
    [{ c: 1 }, "frozen at c: a mask holds true and false, got 1"],
    [{ c: null }, /got null/],
    [["a/0"], 'frozen: takes a tree such as { 0: { kernel: true } }, got ["a/0"]'],
  ])("%j is refused", async (mask, message) => {
    expect(() => frozenPaths(tree, mask)).toThrow(message);
    expect(() => frozenPaths(tree, mask)).toThrow(expect.objectContaining({ code: "MP_INVALID_ARGUMENT" }));
  });

  it("over parameters that are one tensor leaves nothing to train", async () => {
    expect([...frozenPaths(params().out, false)]).toEqual([]);
    expect(() => frozenPaths(params().out, true)).toThrow(/every parameter is frozen/);
  });
});
