import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type HostTensor, type Tensor, tensor, zeros } from "@mp/graph";
import { literal, reduceMean, sub } from "@mp/graph/ops";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { batch, params, type SmallOptions, smallRun, stateOf, trained } from "../../../test/small-run.js";
import { loadTensors, saveTensors } from "../../checkpoint/files.js";
import { adam } from "../../optim/adam.js";
import { sgd } from "../../optim/sgd.js";
import { dynamicLossScale, type LossScaler, staticLossScale } from "../../precision/loss-scaler.js";
import { kahan } from "../../precision/master-weights.js";
import { bfloat16, mixedFloat16 } from "../../precision/presets.js";

let folder = "";
let path = "";
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "mp-checkpoint-"));
});
beforeEach(() => {
  path = join(folder, "run.safetensors");
});
afterAll(() => rm(folder, { recursive: true }));

describe("a checkpoint", () => {
  it("holds the whole state under readable names, and what it was made under", async () => {
    await (
      await trained({ optimizer: adam({ learningRate: 0.1 }), precision: mixedFloat16(), seed: 7 })
    ).save(path);
    const { tensors, metadata } = await loadTensors(path);
    expect(
      Object.entries(tensors)
        .map(([name, { dtype, shape }]) => `${name} ${dtype}[${shape.join()}]`)
        .sort(),
    ).toEqual([
      "applied i32[]",
      "consecutiveSkips i32[]",
      "drawn i32[]",
      "iteration i32[]",
      "master/hidden/b f32[4]",
      "master/hidden/w f32[3,4]",
      "master/out f32[4,1]",
      "model/mean f32[]",
      "model/seen i32[]",
      "optimizer/mean/hidden/b f32[4]",
      "optimizer/mean/hidden/w f32[3,4]",
      "optimizer/mean/out f32[4,1]",
      "optimizer/square/hidden/b f32[4]",
      "optimizer/square/hidden/w f32[3,4]",
      "optimizer/square/out f32[4,1]",
      "retries i32[]",
      "scaler/goodSteps i32[]",
      "scaler/scale f32[]",
      "scaler/tolerance i32[]",
      "skipped i32[]",
    ]);
    expect(metadata).toEqual({
      format: "mp.training/1",
      key: "7",
      precision: "mixed_float16",
      policy: "params=f32,compute=f16,output=f32",
      masterWeights: "f32",
      lossScaler:
        "dynamic(growthFactor 2, backoffFactor 0.5, growthInterval 2000, minScale 1, maxScale 16777216, hysteresis 1, refill on-good-step)",
      optimizer: "adam(learningRate 0.1, beta1 0.9, beta2 0.999, epsilon 1e-8)",
      clipNorm: "none",
      accumulate: "1",
      onOverflow: "skip",
      checkNewParameters: "true",
      cursor: "null",
    });
  });

  it("is the same file for the same state", async () => {
    const training = await trained();
    await training.save(path, { cursor: [1, "a", null] });
    await training.save(join(folder, "again"), { cursor: [1, "a", null] });
    expect((await readFile(path)).equals(await readFile(join(folder, "again")))).toBe(true);
  });

  it("waits for the steps before it and not for those after", async () => {
    const training = await smallRun();
    void training.step(batch(0));
    const saving = training.save(path);
    void training.step(batch(1));
    await saving;
    const loaded = await smallRun();
    await loaded.load(path);
    const one = await smallRun();
    await one.step(batch(0));
    expect(await stateOf(loaded)).toEqual(await stateOf(one));
  });

  it.each([{ at: Number.NaN }, { at: [1, undefined] }, new Date(0), { at: 1n }, () => 1, Symbol("x")])(
    "refuses a cursor that a file would change: %o",
    async (cursor) => {
      const training = await smallRun();
      const saving = training.save(path, { cursor: cursor as never });
      await expect(saving).rejects.toMatchObject({
        code: "MP_INVALID_ARGUMENT",
        message: expect.stringMatching(/^save: cursor\S*: is no JSON value, got/) as string,
      });
    },
  );

  it("with a cursor that contains itself is refused", async () => {
    const cursor: Record<string, unknown> = {};
    cursor["self"] = cursor;
    await expect((await smallRun()).save(path, { cursor: cursor as never })).rejects.toThrow(
      /nested too deep/,
    );
  });
});

describe("a disk that fails", () => {
  it("leaves the file and the run as they were", async () => {
    const training = await trained();
    const before = await stateOf(training);
    for (const wrong of [join(folder, "missing", "x"), join(folder, "run.safetensors", "x"), folder]) {
      await writeFile(path, "kept");
      await expect(training.save(wrong), wrong).rejects.toMatchObject({ code: "MP_IO" });
      expect(await readFile(path, "utf8")).toBe("kept");
    }
    expect(await stateOf(training)).toEqual(before);
    await training.save(path);
    expect((await training.step(batch(2))).applied).toBe(true);
  });

  it("ends a fit that saves, with its error", async () => {
    const training = await smallRun();
    const missing = join(folder, "missing");
    // The folder is made before the first batch is asked for.
    async function* batches() {
      await rm(missing, { recursive: true });
      yield* [batch(0), batch(1)];
    }
    const fitting = training.fit(batches(), { save: { path: join(missing, "x"), every: 1 } });
    await expect(fitting).rejects.toMatchObject({ code: "MP_IO" });
    expect((await training.counters()).iteration).toBe(1);
  });
});

/** Writes a checkpoint with tensors or metadata changed by `edit`; returns its path. */
async function edited(
  edit: (tensors: Record<string, HostTensor>, metadata: Record<string, string>) => void,
): Promise<string> {
  await (await trained()).save(path, { cursor: 3 });
  const { tensors, metadata } = await loadTensors(path);
  const [changed, facts] = [{ ...tensors }, { ...metadata }];
  edit(changed, facts);
  await saveTensors(path, changed, facts);
  return path;
}

/** The error of a run that loads the file, after a check that the run is unchanged. */
async function refused(file: string, options: Partial<SmallOptions> = {}): Promise<unknown> {
  const training = await smallRun(options);
  await training.step(batch(5));
  const before = await stateOf(training);
  const error = await training.load(file).then(
    () => expect.fail("was loaded"),
    (reason: unknown) => reason,
  );
  expect(await stateOf(training)).toEqual(before);
  const other = await smallRun(options);
  await other.step(batch(5));
  expect(await training.step(batch(6))).toEqual(await other.step(batch(6)));
  return error;
}

describe("a file that does not fit", () => {
  const mismatch = (message: RegExp) => ({
    code: "MP_CHECKPOINT_MISMATCH",
    message: expect.stringMatching(message) as string,
    details: { path },
  });

  it.each([
    [
      "without a slot",
      (tensors) => delete tensors["master/out"],
      /master\/out is missing; loadParameters takes its parameters alone; nothing was loaded$/,
    ],
    [
      "with a slot too many",
      (tensors) => {
        tensors["master/more"] = zeros([1]);
      },
      /master\/more is unknown here/,
    ],
    [
      "with a slot of another shape",
      (tensors) => {
        tensors["master/out"] = zeros([2, 2]);
      },
      /master\/out is f32\[2, 2\] instead of f32\[4, 1\]/,
    ],
    [
      "with a slot of another dtype",
      (tensors) => {
        tensors["iteration"] = tensor(Float32Array.of(2), []);
      },
      /iteration is f32\[\] instead of i32\[\]/,
    ],
    [
      "with another seed",
      (_, metadata) => {
        metadata["key"] = "12";
      },
      /was made with seed 12, this run has 0; nothing was loaded/,
    ],
    ["without a seed", (_, metadata) => delete metadata["key"], /was made with seed undefined/],
    [
      "of a later version",
      (_, metadata) => {
        metadata["format"] = "mp.training/3";
      },
      /its format is mp.training\/3 instead of mp.training\/1 or mp.training\/2/,
    ],
    ["of no format", (_, metadata) => delete metadata["format"], /is no training checkpoint .* not given/],
    [
      "with a cursor that is no JSON",
      (_, metadata) => {
        metadata["cursor"] = "{";
      },
      /its cursor is not JSON/,
    ],
    [
      "with many differences",
      (tensors) => {
        for (const name of Object.keys(tensors)) tensors[`${name}2`] = zeros([1]);
      },
      /; and \d+ more; loadParameters takes its parameters alone; nothing was loaded/,
    ],
    [
      "with a window",
      (tensors) => {
        tensors["window/loss"] = zeros([]);
      },
      /window\/loss is unknown here/,
    ],
  ] as readonly (readonly [string, Parameters<typeof edited>[0], RegExp])[])(
    "%s is refused, and nothing is loaded",
    async (_name, edit, message) => {
      expect(await refused(await edited(edit))).toMatchObject(mismatch(message));
    },
  );

  it("with a window is refused by a run that has windows too", async () => {
    const file = await edited((tensors) => {
      tensors["window/loss"] = zeros([]);
    });
    const training = await smallRun({ accumulate: 2 });
    await expect(training.load(file)).rejects.toMatchObject(
      mismatch(/window\/loss is no part of a checkpoint/),
    );
  });

  it.each<readonly [string, Partial<SmallOptions>, RegExp]>([
    [
      "optimizer",
      { optimizer: sgd({ learningRate: 1 }) },
      // Only the optimizer is named: precision, master weights and loss scaler are the same.
      /: does not fit: optimizer\/velocity[^;]* is unknown here; .*; this run has optimizer sgd\([^;]*\) instead of momentum\([^;]*\); loadParameters/,
    ],
    [
      "optimizer with more state",
      { optimizer: adam({ learningRate: 1 }) },
      /optimizer\/mean\/hidden\/b is missing/,
    ],
    ["loss scaler", { precision: mixedFloat16() }, /scaler\/goodSteps is missing/],
    [
      "master weights",
      { precision: { ...bfloat16(), masterWeights: kahan("bf16") } },
      /master\/compensation\/hidden\/b is missing/,
    ],
    ["pure half", { precision: bfloat16() }, /master\/hidden\/b is f32\[4\] instead of bf16\[4\]/],
    [
      "model",
      { params: { ...params(), out: zeros([4, 2]) } },
      /master\/out is f32\[4, 1\] instead of f32\[4, 2\]/,
    ],
    [
      "model state",
      {
        modelState: { mean: zeros([2]), seen: zeros([], "i32") },
        loss: ({ out }) => ({ loss: out, metrics: { error: out } }),
      },
      /model\/mean is f32\[\] instead of f32\[2\]/,
    ],
    ["seed", { seed: 1 }, /was made with seed 0, this run has 1/],
  ])("this run's %s is refused, and nothing is loaded", async (_name, options, message) => {
    await (await trained()).save(path);
    const training = await smallRun(options);
    const before = await stateOf(training);
    await expect(training.load(path)).rejects.toMatchObject(mismatch(message));
    expect(await stateOf(training)).toEqual(before);
  });

  it("is refused when it is cut, garbled, foreign, a folder or not there", async () => {
    await (await trained()).save(path);
    const whole = await readFile(path);
    const flipped = Buffer.from(whole);
    flipped.writeUInt8(whole.readUInt8(12) ^ 0x40, 12);
    for (const [content, code] of [
      [whole.subarray(0, whole.length - 1), "MP_PARSE"],
      [whole.subarray(0, 100), "MP_PARSE"],
      [Buffer.alloc(0), "MP_PARSE"],
      [Buffer.concat([whole, Buffer.alloc(1)]), "MP_PARSE"],
      [Buffer.from("PK\u0003\u0004 a zip file, as torch.save writes"), "MP_PARSE"],
      [flipped, "MP_PARSE"],
    ] as const) {
      await writeFile(path, content);
      expect(await refused(path)).toMatchObject({ code });
    }
    await mkdir(join(folder, "directory"), { recursive: true });
    expect(await refused(join(folder, "directory"))).toMatchObject({ code: "MP_IO" });
    expect(await refused(join(folder, "nothing"))).toMatchObject({
      code: "MP_IO",
      message: expect.stringMatching(/nothing/) as string,
    });
  });

  it("of tensors alone, as another program saves weights, is refused", async () => {
    await saveTensors(path, { weight: zeros([2]) }, { format: "pt" });
    expect(await refused(path)).toMatchObject(mismatch(/its format is pt instead of mp.training\/1/));
  });
});

it("what was loaded twice is what was saved", async () => {
  const training = await trained();
  await training.save(path, { cursor: { epoch: 2, index: 5 } });
  const want = await stateOf(training);
  await training.step(batch(3));
  for (let turn = 0; turn < 2; turn++) {
    expect(await training.load(path)).toEqual({ epoch: 2, index: 5 });
    expect(await stateOf(training)).toEqual(want);
  }
});

describe("values that no run leaves behind", () => {
  const f32 = (value: number) => tensor(Float32Array.of(value), []);
  const i32 = (value: number) => tensor(Int32Array.of(value), []);
  const i64 = (value: bigint) => tensor(BigInt64Array.of(value), []);
  const at = (tensors: Record<string, HostTensor>, slot: string, index: number, value: number) => {
    const { data, shape } = tensors[slot] as HostTensor<"f32">;
    tensors[slot] = tensor(data.with(index, value), shape);
  };
  const lossScaler = dynamicLossScale({ initialScale: 8 }) as unknown as LossScaler;
  const dynamic = { precision: { ...mixedFloat16(), lossScaler }, optimizer: adam({ learningRate: 0.1 }) };

  it.each<readonly [string, HostTensor, string]>([
    ...[0, -1, Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 1e-40, 2 ** 127].map(
      (scale) => ["scaler/scale", f32(scale), `scaler/scale is ${Math.fround(scale)}`] as const,
    ),
    ["scaler/goodSteps", i32(-1), "scaler/goodSteps is -1"],
    ["scaler/goodSteps", i32(2 ** 31 - 1), "scaler/goodSteps is 2147483647"],
    ["scaler/tolerance", i32(0), "scaler/tolerance is 0: a run keeps it from 1 to"],
    ["applied", i32(-1), "applied is -1: a run keeps it from 0 to"],
    ["applied", i32(2 ** 31 - 1), "applied is 2147483647"],
    ["applied", i32(3), "iteration is 2, and applied 3 and skipped 0 do not add up to it"],
    ["iteration", i32(-1), "iteration is -1"],
    ["iteration", i32(2 ** 31 - 1), "iteration is 2147483647: a run keeps it from 0 to 2147483646"],
    ["drawn", i32(-5), "drawn is -5"],
    ["drawn", i64(-5n), "drawn is -5"],
    ["drawn", i32(1), "iteration is 2, and drawn is only 1"],
    ["skipped", i32(-1), "skipped is -1"],
    ["consecutiveSkips", i32(1), "consecutiveSkips is 1, and skipped is only 0"],
    ["consecutiveSkips", i32(-1), "consecutiveSkips is -1"],
    ["retries", i32(-1), "retries is -1"],
  ])("%s = %o is refused, and nothing is loaded", async (slot, value, message) => {
    const training = await trained(dynamic);
    await training.save(path);
    const { tensors, metadata } = await loadTensors(path);
    await saveTensors(path, { ...tensors, [slot]: value }, metadata);
    expect(await refused(path, dynamic)).toMatchObject({
      code: "MP_CHECKPOINT_MISMATCH",
      message: expect.stringContaining(`${path}: ${message}`) as string,
    });
  });

  it.each(
    ["master/hidden/w", "optimizer/mean/hidden/w", "optimizer/square/hidden/w"].flatMap((slot) =>
      [Number.NaN, Number.POSITIVE_INFINITY].map((value) => [slot, value] as const),
    ),
  )("%s with %s is refused, naming the element", async (slot, value) => {
    await (await trained(dynamic)).save(path);
    const { tensors, metadata } = await loadTensors(path);
    const changed = { ...tensors };
    at(changed, slot, 5, value);
    await saveTensors(path, changed, metadata);
    expect(await refused(path, dynamic)).toMatchObject({
      code: "MP_CHECKPOINT_MISMATCH",
      message: `${path}: ${slot} is ${value} at element 5; such a run is damaged, load an earlier checkpoint; nothing was loaded`,
    });
  });

  it.each([
    [0x7f80, "Infinity"],
    [0xffc0, "NaN"],
  ])("masters in bf16 with the bits %d are refused", async (bits, value) => {
    const halves = { precision: bfloat16() };
    await (await trained(halves)).save(path);
    const { tensors, metadata } = await loadTensors(path);
    const { data, shape } = tensors["master/out"] as HostTensor<"bf16">;
    const out = tensor(data.with(1, bits), shape, "bf16");
    await saveTensors(path, { ...tensors, "master/out": out }, metadata);
    expect(await refused(path, halves)).toMatchObject({
      message: expect.stringContaining(`master/out is ${value} at element 1`) as string,
    });
  });

  it("an infinity that a run starts from is what it may go on from until a step is applied", async () => {
    const options = {
      modelState: { mean: f32(Number.POSITIVE_INFINITY), seen: i32(0) },
      loss: ({ out }: { out: Tensor }, _batch: unknown, { modelState }: { modelState: object }) => ({
        loss: reduceMean(out),
        metrics: { error: reduceMean(out) },
        modelState: { ...modelState, mean: reduceMean(out) },
      }),
    } as unknown as Partial<SmallOptions>;
    const training = await smallRun(options);
    await training.save(path);
    await training.load(path);
    expect((await training.step(batch(0))).applied).toBe(true);
    const { tensors, metadata } = await loadTensors(path);
    await training.save(path);
    const after = await loadTensors(path);
    const mean = tensors["model/mean"] as HostTensor;
    await saveTensors(path, { ...after.tensors, "model/mean": mean }, metadata);
    await expect(training.load(path)).rejects.toThrow("model/mean is Infinity; such a run is damaged");
  });

  it("a file of another kind of scaler is refused in words that name both", async () => {
    await (await trained({ precision: mixedFloat16() })).save(path);
    const scaler = staticLossScale(128) as unknown as LossScaler;
    const training = await smallRun({ precision: { ...mixedFloat16(), lossScaler: scaler } });
    await expect(training.load(path)).rejects.toThrow(
      /does not fit: scaler\/.*; this run has lossScaler static\(128\) instead of dynamic\([^;]*\); loadParameters/,
    );
  });

  it("a scaler of one's own is asked for the scale that its state gives", async () => {
    const lossScaler: LossScaler<{ readonly power: Tensor }> = {
      name: "powers",
      init: () => ({ power: literal(3) }),
      scale: ({ power }) => sub(power, 2),
      update: (state) => state,
    };
    const options = { precision: { ...mixedFloat16(), lossScaler: lossScaler as unknown as LossScaler } };
    await (await trained(options)).save(path);
    const training = await smallRun(options);
    await training.load(path);
    const { tensors, metadata } = await loadTensors(path);
    await saveTensors(path, { ...tensors, "scaler/power": f32(2) }, metadata);
    await expect(training.load(path)).rejects.toThrow(
      "loss scaler powers gave the scale 0, which is no number from 2^-126 to 2^126",
    );
    // The scale is above 0, but every step at it would be skipped.
    await saveTensors(path, { ...tensors, "scaler/power": f32(2 ** 127) }, metadata);
    await expect(training.load(path)).rejects.toThrow(
      "let its `scale` stay in that range; nothing was loaded",
    );
  });
});
