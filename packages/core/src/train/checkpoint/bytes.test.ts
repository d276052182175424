import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runInNewContext } from "node:vm";
import { type HostTensor, type Tensor, tensor } from "@mp/graph";
import { add, matMul, mul, reduceMean, square, sub } from "@mp/graph/ops";
import { reference } from "@mp/graph/reference";
import { describe, expect, it } from "vitest";
import { batch, params, type SmallTrainer, smallRun, stateOf } from "../../../test/small-run.js";
import { bytesOfTensors, tensorsOfBytes } from "../../checkpoint/bytes.js";
import { adam } from "../../optim/adam.js";
import { settable } from "../../optim/settable.js";
import { stochasticRounding } from "../../precision/master-weights.js";
import { bfloat16, mixedFloat16 } from "../../precision/presets.js";
import { trainer } from "../trainer.js";
import { loadParameters } from "./load-parameters.js";

const options = { optimizer: adam({ learningRate: 0.1 }), precision: mixedFloat16() };

describe("saveBytes", () => {
  it("gives the bytes of the file", async () => {
    const folder = await mkdtemp(join(tmpdir(), "mp-bytes-"));
    const path = join(folder, "run");
    const training = await smallRun(options);
    await training.step(batch(0));
    for (const given of [undefined, { cursor: null }, { cursor: { epoch: 2 } }]) {
      await training.save(path, given);
      const bytes = await training.saveBytes(given);
      expect(Buffer.compare(bytes, await readFile(path))).toBe(0);
      expect(Object.getPrototypeOf(bytes)).toBe(Uint8Array.prototype);
    }
    await rm(folder, { recursive: true });
  });

  it("is of the state after earlier calls, and does not change with later ones", async () => {
    const training = await smallRun(options);
    void training.step(batch(0));
    const bytes = await training.saveBytes();
    const copy = bytes.slice();
    await training.step(batch(1));
    expect(bytes).toEqual(copy);
    const other = await smallRun(options);
    await other.step(batch(0));
    expect(await other.saveBytes()).toEqual(copy);
  });

  it("refuses a cursor that is not JSON", async () => {
    const training = await smallRun(options);
    await expect(training.saveBytes({ cursor: 1n as unknown as number })).rejects.toMatchObject({
      code: "MP_INVALID_ARGUMENT",
      message: expect.stringMatching(/^saveBytes: cursor/) as string,
    });
  });
});

describe("loadBytes", () => {
  it("continues with the same bits, and keeps nothing of the bytes", async () => {
    const straight = await smallRun(options);
    await straight.step(batch(0));
    const bytes = await straight.saveBytes({ cursor: [7] });
    const resumed = await smallRun(options);
    expect(await resumed.loadBytes(bytes)).toEqual([7]);
    bytes.fill(0);
    expect(await resumed.step(batch(1))).toEqual(await straight.step(batch(1)));
    expect(await stateOf(resumed)).toEqual(await stateOf(straight));
  });

  it("takes a Buffer, a part of a larger array, and an array of another realm", async () => {
    const training = await smallRun(options);
    const bytes = await training.saveBytes({ cursor: "here" });
    const wider = new Uint8Array(bytes.length + 5);
    wider.set(bytes, 3);
    const foreign = runInNewContext("Uint8Array.from(bytes)", { bytes }) as Uint8Array;
    for (const given of [Buffer.from(bytes), wider.subarray(3, 3 + bytes.length), foreign])
      expect(await training.loadBytes(given)).toBe("here");
  });

  it.each([undefined, null, "run.safetensors", new ArrayBuffer(8), [1], new Float32Array(2)])(
    "takes bytes and not %o",
    async (wrong) => {
      const training = await smallRun(options);
      await expect(training.loadBytes(wrong as unknown as Uint8Array)).rejects.toMatchObject({
        code: "MP_INVALID_ARGUMENT",
        message: expect.stringMatching(
          /^loadBytes: takes the bytes of a checkpoint as Uint8Array, got/,
        ) as string,
      });
    },
  );

  it("refuses what is cut, garbled or foreign at any place, with nothing loaded", async () => {
    const training = await smallRun(options);
    await training.step(batch(0));
    const bytes = await training.saveBytes();
    const state = await stateOf(training);
    const hostile: Uint8Array[] = [
      new Uint8Array(0),
      Uint8Array.of(...bytes, 0),
      new TextEncoder().encode("PK\u0003\u0004 a zip file, as torch.save writes"),
      new Uint8Array(16).fill(255),
    ];
    for (let size = 1; size < bytes.length; size += 61) hostile.push(bytes.subarray(0, size));
    for (let at = 0; at < bytes.length; at += 37) {
      const flipped = bytes.slice();
      flipped[at] = (flipped[at] as number) ^ 0x40;
      hostile.push(flipped);
    }
    for (const given of hostile) {
      await expect(training.loadBytes(given)).rejects.toMatchObject({ name: "MpError", code: "MP_PARSE" });
    }
    expect(await stateOf(training)).toEqual(state);
  });

  it("refuses a checkpoint of another run, and warns about other settings, as load does", async () => {
    const bytes = await (await smallRun({ ...options, seed: 3 })).saveBytes();
    await expect((await smallRun(options)).loadBytes(bytes)).rejects.toMatchObject({
      code: "MP_CHECKPOINT_MISMATCH",
      message: "loadBytes: was made with seed 3, this run has 0; nothing was loaded",
    });
    const other = await smallRun({ ...options, seed: 3, clipNorm: 1, onWarning: () => undefined });
    await other.loadBytes(bytes);
    expect(other.warnings.map(({ message }) => message)).toEqual([
      "loadBytes: goes on under other settings, clipNorm 1 instead of none",
    ]);
  });
});

it("loadParameters takes bytes as it takes a path", async () => {
  const training = await smallRun(options);
  await training.step(batch(0));
  const loaded = await loadParameters(await training.saveBytes(), { params: params() });
  expect(loaded).toEqual({ params: await training.parameters() });
  await expect(loadParameters(new Uint8Array(9), { params: params() })).rejects.toMatchObject({
    code: "MP_PARSE",
  });
});

/** Checkpoints written while `iteration` and `drawn` were i64. */
describe("a checkpoint of an earlier version", () => {
  const fixture = async (name: string): Promise<Uint8Array<ArrayBuffer>> =>
    new Uint8Array(
      await readFile(new URL(`../../../test/fixtures/checkpoint-${name}.safetensors`, import.meta.url)),
    );
  /** The tensors of the file, with 32-bit counters. */
  const shortened = (bytes: Uint8Array<ArrayBuffer>): Readonly<Record<string, HostTensor>> =>
    Object.fromEntries(
      Object.entries(tensorsOfBytes(bytes).tensors).map(([slot, value]) => [
        slot,
        value.dtype === "i64" ? tensor(Int32Array.from(value.data, Number), value.shape) : value,
      ]),
    );
  const sine = (shape: readonly number[], step: number): HostTensor<"f32"> =>
    tensor(
      Float32Array.from({ length: shape.reduce((a, b) => a * b, 1) }, (_, i) => Math.sin(step * (i + 1))),
      shape,
    );

  it("of version 0.1.0 loads, is saved as it was, and continues", async () => {
    const training = await trainer({
      backend: await reference(),
      params: { w: sine([3, 2], 0.7), b: sine([2], 0.1) },
      loss: ({ w, b }, { x, y }: { x: Tensor; y: Tensor }) =>
        reduceMean(square(sub(add(matMul(x, w), b), mul(y, 1)))),
      optimizer: adam({ learningRate: 0.1 }),
      precision: mixedFloat16(),
      seed: 7,
      onWarning: () => undefined,
    });
    const bytes = await fixture("0.1.0");
    expect(await training.loadBytes(bytes)).toEqual({ place: 3 });
    const saved = tensorsOfBytes(await training.saveBytes());
    expect(saved.tensors).toEqual(shortened(bytes));
    expect(saved.metadata).toEqual(tensorsOfBytes(bytes).metadata);
    expect(training.warnings.filter(({ type }) => type === "checkpoint")).toEqual([]);
    const { loss } = await training.step({ x: sine([4, 3], 2.37), y: sine([4, 2], 2.9) });
    // From the run that wrote the file.
    expect(loss).toBe(0.8894569277763367);
  });

  const averaged = (): Promise<SmallTrainer> =>
    smallRun({
      optimizer: adam({ learningRate: settable(0.1) }),
      ema: { decay: 0.9 },
      accumulate: 2,
      precision: { ...bfloat16(), masterWeights: stochasticRounding() },
      seed: 7,
    });
  const stepOf = async (training: SmallTrainer, place: number): Promise<number> =>
    (await training.step(batch(2 * place), batch(2 * place + 1))).loss;

  it("with optional parts loads and continues: masks and roundings are drawn as then", async () => {
    const training = await averaged();
    const bytes = await fixture("format-2");
    expect(await training.loadBytes(bytes)).toEqual({ place: 3 });
    expect(training.warnings).toEqual([]);
    const saved = tensorsOfBytes(await training.saveBytes());
    expect(saved.tensors).toEqual(shortened(bytes));
    const losses = [await stepOf(training, 3), await stepOf(training, 4), await stepOf(training, 5)];
    // From the run that wrote the file.
    expect(losses).toEqual([1.638671875, 6.0859375, 0.791015625]);
  });

  it("of two ranks loads, with the mean of their model states", async () => {
    const training = await averaged();
    await training.loadBytes(await fixture("of-two-ranks"));
    expect(Array.from((await training.modelState()).mean.data)).toEqual([0.3701171875]);
    expect(await stepOf(training, 3)).toBe(1.638671875);
  });

  it.each(["iteration", "drawn"])("that counts beyond 2^31 is refused by name: %s", async (slot) => {
    const training = await averaged();
    const { tensors, metadata } = tensorsOfBytes(await fixture("format-2"));
    const late = { ...tensors, [slot]: tensor(BigInt64Array.of(2n ** 31n), []) };
    await expect(training.loadBytes(bytesOfTensors({ tensors: late, metadata }))).rejects.toMatchObject({
      code: "MP_CHECKPOINT_MISMATCH",
      message: `loadBytes: ${slot} is 2147483648, and must be from 0 to 2147483646; loadParameters takes its parameters alone; nothing was loaded`,
    });
  });

  it("that counts to 2^31 - 3 continues for one microbatch, and no more", async () => {
    const { tensors, metadata } = tensorsOfBytes(await (await smallRun()).saveBytes());
    const late = { ...tensors, drawn: tensor(Int32Array.of(2 ** 31 - 3), []) };
    const training = await smallRun();
    await training.loadBytes(bytesOfTensors({ tensors: late, metadata }));
    await training.step(batch(0));
    await expect(training.step(batch(1))).rejects.toMatchObject({
      code: "MP_OUT_OF_RANGE",
      message: expect.stringContaining("at most 2147483646 microbatches, and has had 2147483646") as string,
    });
    expect((await training.counters()).iteration).toBe(1);
  });
});
