import { tensor, zeros } from "@mp/graph";
import { reference } from "@mp/graph/reference";
import { describe, expect, it } from "vitest";
import { batch, smallRun, stateOf, wave } from "../../../test/small-run.js";
import { mixedFloat16 } from "../../precision/presets.js";
import type { TrainingWarning } from "../definition/warning.js";
import { batchDifferences, feedBatch } from "./batch.js";

const x = wave([2, 3], 1);
const cyclic: Record<string, unknown> = {};
cyclic["self"] = cyclic;

describe("a batch", () => {
  it("is taken apart by path, keys in order, whatever order they came in", () => {
    const { inputs, signature, types } = feedBatch({ b: [x, { c: zeros([], "i32") }], a: x });
    expect(Object.keys(inputs)).toEqual(["batch/a", "batch/b/0", "batch/b/1/c"]);
    expect(signature).toBe("batch/a:f32[2,3];batch/b/0:f32[2,3];batch/b/1/c:i32[];");
    expect(types()).toEqual({
      a: { dtype: "f32", shape: [2, 3] },
      b: [{ dtype: "f32", shape: [2, 3] }, { c: { dtype: "i32", shape: [] } }],
    });
    expect(feedBatch({ a: x, b: [x, { c: zeros([], "i32") }] }).signature).toBe(signature);
  });

  it("may be one tensor, or empty of them", () => {
    expect(Object.keys(feedBatch(x).inputs)).toEqual(["batch"]);
    expect(feedBatch({}).inputs).toEqual({});
    expect(feedBatch(Object.create(null)).inputs).toEqual({});
  });

  it.each([
    [
      { x: new Float64Array(6) },
      "batch/x: is a Float64Array and there is no f64 tensor; tensor(Float32Array.from(data), shape) rounds it to f32",
    ],
    [
      { x: [1, 2, 3] },
      "batch/x: is an array of numbers; wrap it: tensor(Float32Array.from(numbers), shape), with Int32Array for indices",
    ],
    [
      {
        x: [
          [1, 2],
          [3, 4],
        ],
      },
      /batch\/x: is an array of numbers/,
    ],
    [{ x: [1n] }, /batch\/x: is an array of numbers/],
    [
      { x: new Float32Array(6) },
      /batch\/x: is a Float32Array without a shape; wrap it: tensor\(data, shape\)/,
    ],
    [{ x: new DataView(new ArrayBuffer(8)) }, /is a DataView without a shape/],
    [{ x: 3 }, /batch\/x: is a number; wrap it/],
    [{ x: "text" }, /batch at x: a tree holds tensors, arrays and plain objects, got "text"/],
    [{ x: null }, /got null/],
    [{ x: undefined }, /got undefined/],
    [{ x: new Map() }, /got Map/],
    [{ x: new Date(0) }, /got Date/],
    [{ "a/b": x }, /the key "a\/b" contains a slash/],
    [cyclic, /batch at self: the tree contains itself/],
    [undefined, /batch: a tree holds/],
    [7, /batch: is a number/],
    [{ x: zeros([0, 3]) }, "batch/x: holds no elements, its shape is [0, 3]"],
    [{ x: zeros([4, 0]) }, /batch\/x: holds no elements/],
  ])("%o is refused by its path, with what would do", async (wrong, message) => {
    expect(() => feedBatch(wrong)).toThrow(message);
    expect(() => feedBatch(wrong)).toThrow(expect.objectContaining({ code: "MP_INVALID_ARGUMENT" }));
    const training = await smallRun();
    await expect(training.step(wrong as never)).rejects.toThrow(message);
  });

  it.each([
    [{ dtype: "f32", shape: [4, 3], data: new Float64Array(12) }, "MP_DTYPE_MISMATCH", /batch\/x/],
    [{ dtype: "f32", shape: [4, 3], data: new Float32Array(11) }, "MP_SHAPE_MISMATCH", /batch\/x/],
  ])("made by hand that is not what it says is refused by its path: %#", async (wrong, code, message) => {
    const training = await smallRun();
    const step = training.step({ ...batch(0), x: wrong as never });
    await expect(step).rejects.toThrow(message);
    await expect(step).rejects.toMatchObject({ code });
    expect((await training.step(batch(0))).applied).toBe(true);
  });

  it("may lie on the engine already; a handle that is gone is refused", async () => {
    const backend = await reference();
    const training = await smallRun({ backend });
    const { x: data, y } = batch(0);
    const handle = await backend.upload(data);
    expect(await training.step({ x: handle, y })).toEqual(await (await smallRun()).step(batch(0)));
    handle.dispose();
    await expect(training.step({ x: handle, y })).rejects.toMatchObject({ code: "MP_DISPOSED" });
    const foreign = await (await reference()).upload(data);
    await expect(training.step({ x: foreign, y })).rejects.toThrow(/belongs to another backend/);
  });
});

describe("a second batch unlike the first", () => {
  const { x: good, y } = batch(0);
  it.each([
    ["shape", { x: wave([4, 2], 1), y }, "MP_SHAPE_MISMATCH", "batch/x is f32[4, 2] instead of f32[4, 3]"],
    [
      "dtype",
      { x: tensor(new Int32Array(12), [4, 3]), y },
      "MP_DTYPE_MISMATCH",
      "batch/x is i32[4, 3] instead of f32[4, 3]",
    ],
    ["a leaf too few", { x: good }, "MP_INVALID_ARGUMENT", "batch/y is missing, it was f32[4, 1]"],
    ["another name", { z: good, y }, "MP_INVALID_ARGUMENT", "batch/z is new; batch/x is missing"],
  ])("is refused with its path: %s", async (_name, wrong, code, message) => {
    for (const accumulate of [1, 2]) {
      const training = await smallRun({ accumulate });
      const window = (last: unknown): never =>
        [...Array<unknown>(accumulate - 1).fill(batch(0)), last] as never;
      await training.step(...(window(batch(0)) as never[]));
      const before = await stateOf(training);
      const step = training.step(...(window(wrong) as never[]));
      await expect(step).rejects.toThrow(`unlike the batches before, ${message}`);
      await expect(step).rejects.toMatchObject({ code });
      expect(await stateOf(training)).toEqual(before);
      expect((await training.step(...(window(batch(1)) as never[]))).applied).toBe(true);
    }
  });

  it("keeps the loss's line beside the path", async () => {
    const training = await smallRun();
    await training.step(batch(0));
    await expect(training.step({ ...batch(0), x: wave([4, 5], 1) })).rejects.toThrow(
      /MatMul: inner sizes differ, \[4, 5\] by \[3, 4\] \(at .*small-run\.ts:\d+.*batch\/x is f32\[4, 5\] instead of f32\[4, 3\]/,
    );
  });

  it("differs in what the list of differences says", () => {
    const before = feedBatch({ a: x, b: x }).inputs;
    expect(batchDifferences(before, feedBatch({ a: x, b: x }).inputs)).toEqual([]);
    expect(batchDifferences(before, feedBatch({ a: wave([1], 1), c: x }).inputs)).toEqual([
      "batch/a is f32[1] instead of f32[2, 3]",
      "batch/c is new",
      "batch/b is missing, it was f32[2, 3]",
    ]);
  });
});

describe("many batch shapes", () => {
  it("are each compiled once, the least recently used of more than eight anew; the third warns", async () => {
    const real = await reference();
    let compiled = 0;
    const backend = {
      ...real,
      name: "counting",
      manifest: real.manifest,
      compile: (...given: Parameters<typeof real.compile>) => {
        compiled++;
        return real.compile(...given);
      },
      createState: (...given: Parameters<typeof real.createState>) => real.createState(...given),
      dispose: () => real.dispose(),
    } as typeof real;
    const warnings: TrainingWarning[] = [];
    const training = await smallRun({ backend, onWarning: (warning) => void warnings.push(warning) });
    compiled = 0;
    const rows = async (...all: readonly number[]): Promise<void> => {
      for (const count of all) await training.step(batch(0, count));
    };
    await rows(1, 2, 1, 2);
    expect([compiled, warnings.length]).toEqual([2, 0]);
    await rows(3);
    expect(warnings).toHaveLength(1);
    expect(warnings[0]?.message).toMatch(
      /^step: a third distinct batch shape has been compiled \(batch\/x:f32\[3,3\];batch\/y:f32\[3,1\];\); pad partial batches, or in training drop them/,
    );
    await rows(4, 5, 6, 7, 8, 1, 2, 3);
    expect([compiled, warnings.length]).toEqual([8, 1]);
    const live = real.stats().live;
    await rows(9);
    expect([compiled, real.stats().live]).toEqual([9, live]);
    // The program for 4 rows was used least recently.
    await rows(1, 2, 3, 5, 6, 7, 8, 9);
    expect(compiled).toBe(9);
    await rows(4);
    expect(compiled).toBe(10);
    await rows(1);
    expect(compiled).toBe(11);
    await training.dispose();
    expect(real.stats().live).toBe(0);
  });

  it("that could not be compiled do not count", async () => {
    const warnings: TrainingWarning[] = [];
    const training = await smallRun({ onWarning: (warning) => void warnings.push(warning) });
    for (const size of [4, 5, 6]) {
      await training.step({ ...batch(0), x: wave([4, size], 1) }).catch(() => undefined);
    }
    await training.step(batch(0));
    await training.step(batch(0, 2));
    expect(warnings).toEqual([]);
  });

  it("of functions to predict with warn at the third, and do not hold on to closures", async () => {
    const warnings: TrainingWarning[] = [];
    const training = await smallRun({
      precision: mixedFloat16(),
      onWarning: ({ type, message }) => {
        if (type === "performance") warnings.push({ type, message });
      },
    });
    for (let turn = 0; turn < 4; turn++) {
      const { out } = await training.predict(({ out }) => ({ out }), {});
      expect(out.shape).toEqual([4, 1]);
    }
    expect(warnings.map(({ message }) => message)).toEqual([
      "predict: a third function is being compiled; pass the same function object each time",
    ]);
  });
});
