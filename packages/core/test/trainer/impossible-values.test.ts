/** Values that no run writes, anywhere in the floats of a checkpoint: of every optimizer, format and kind of master weights. */

import {
  encode,
  type FloatDType,
  floatFormats,
  type HostTensor,
  isFloat,
  type Tensor,
  tensor,
} from "@mp/graph";
import { add, cast, mul, reduceMean } from "@mp/graph/ops";
import { reference } from "@mp/graph/reference";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { bytesOfTensors, tensorsOfBytes } from "../../src/checkpoint/bytes.js";
import type { Optimizer } from "../../src/optim/optimizer.js";
import { STATE_FORMATS, type StateFormat } from "../../src/optim/states/state-format.js";
import {
  f32Master,
  kahan,
  type MasterWeights,
  noMasterWeights,
  stochasticRounding,
} from "../../src/precision/master-weights.js";
import { float32 } from "../../src/precision/presets.js";
import { trainer } from "../../src/train/trainer.js";
import { wave } from "../small-run.js";
import { statefulOptimizers } from "../stateful-optimizers.js";

const masters: readonly MasterWeights[] = [
  f32Master(),
  ...(["f16", "bf16"] as const).flatMap((half) => [noMasterWeights(half), kahan(half) as MasterWeights]),
  stochasticRounding(),
];

/** A matrix of three blocks and a vector of one, beside a frozen matrix of codes and scales and a mask. */
const parameters = () => ({
  wide: wave([20, 30], 0.7),
  narrow: wave([7, 3], 1.3),
  base: {
    int8: tensor(
      Uint8Array.from({ length: 12 }, (_, at) => 17 * at),
      [4, 3],
    ),
    absmax: wave([4], 0.2),
    mask: tensor(Float32Array.of(0, Number.NEGATIVE_INFINITY)),
  },
});

async function run(optimizer: Optimizer, masterWeights = f32Master() as MasterWeights) {
  return trainer({
    backend: await reference(),
    params: parameters(),
    loss: ({ wide, narrow, base }): Tensor => {
      const [a, b] = [cast(wide, "f32"), cast(narrow, "f32")];
      const rows = reduceMean(mul(cast(base.int8, "f32"), 0.01));
      return mul(add(reduceMean(mul(a, a)), rows), reduceMean(mul(b, b)));
    },
    optimizer,
    precision: { ...float32(), masterWeights },
    frozen: { base: true },
    ema: { decay: 0.9 },
    seed: 3,
    onWarning: () => undefined,
  });
}

const made = (name: string, states: StateFormat): Optimizer =>
  (statefulOptimizers[name] as (options: object) => Optimizer)({
    learningRate: 0.1,
    states,
    minU8Elements: 1,
  });

const isScale = (entry: string): boolean => /^optimizer\/.*\.(scale|absmax|max)\//.test(entry);

/** Numbers that no run writes into an entry. Frozen masks may have infinities. */
function impossibleIn(entry: string, dtype: FloatDType): readonly number[] {
  if (isScale(entry)) return [Number.NaN, -1e-3, 0, 2 ** -121, Number.POSITIVE_INFINITY].map(Math.fround);
  const hasInfinity = !entry.startsWith("frozen/") && floatFormats[dtype].hasInfinity;
  return hasInfinity ? [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY] : [Number.NaN];
}

interface Damage {
  /** The entry, element and value, as a message says them. */
  readonly said: string;
  readonly bytes: Uint8Array;
}

/** Checkpoints each with one impossible element: one of each entry of floats, drawn by two numbers from 0 to 1. */
function damages(good: Uint8Array, element: number, choice: number): readonly Damage[] {
  const { tensors, metadata } = tensorsOfBytes(good);
  return Object.entries(tensors).flatMap(([entry, held]) => {
    if (!isFloat(held.dtype) || /^(scaler|rates)\//.test(entry)) return [];
    const index = Math.floor(element * held.data.length);
    const values = impossibleIn(entry, held.dtype);
    const value = values[Math.floor(choice * values.length)] as number;
    const data = held.data.slice();
    (data as Float32Array)[index] = held.dtype === "f32" ? value : encode(held.dtype, value);
    const said = `${entry} is ${value}${data.length === 1 ? "" : ` at element ${index}`}`;
    const changed = { ...tensors, [entry]: { ...held, data } as HostTensor };
    return [{ said, bytes: bytesOfTensors({ tensors: changed, metadata }) }];
  });
}

const mismatch = (text: string) => ({
  code: "MP_CHECKPOINT_MISMATCH",
  message: expect.stringContaining(text) as string,
});

const share = fc.double({ min: 0, max: 0.999, noNaN: true });

/** Checks that a run refuses the checkpoint with any impossible value, and stays as it was. */
async function expectRefusals(
  good: Uint8Array,
  training: Awaited<ReturnType<typeof run>>,
  numRuns = 2,
): Promise<void> {
  const before = await training.saveBytes();
  await fc.assert(
    fc.asyncProperty(share, share, async (element, choice) => {
      for (const { said, bytes } of damages(good, element, choice))
        await expect(training.loadBytes(bytes), said).rejects.toMatchObject(mismatch(said));
    }),
    { numRuns },
  );
  expect(await training.saveBytes()).toEqual(before);
}

/** Checks that another such run loads the checkpoint with its bits, at first and after steps, and no impossible value. */
async function expectChecked(start: () => ReturnType<typeof run>): Promise<void> {
  const [training, other] = [await start(), await start()];
  await other.loadBytes(await training.saveBytes());
  expect(await other.saveBytes()).toEqual(await training.saveBytes());
  for (let step = 0; step < 2; step++) await training.step({});
  const good = await training.saveBytes();
  await expectRefusals(good, other);
  await other.loadBytes(good);
  expect(await other.saveBytes()).toEqual(good);
}

describe.each(Object.keys(statefulOptimizers))("a checkpoint of %s", (name) => {
  it.each(STATE_FORMATS)("with states %s loads with its bits, and with no impossible value", (states) =>
    expectChecked(() => run(made(name, states))),
  );
});

it.each(masters.map((each) => [each.name, each] as const))("master weights %s are checked", (_name, kept) =>
  expectChecked(() => run(made("adamW", "f32"), kept)),
);

describe.each(STATE_FORMATS)("states %s", (from) => {
  it.each(STATE_FORMATS.filter((format) => format !== from))(
    "are checked before they are converted to %s",
    async (to) => {
      const training = await run(made("adamW", from));
      await training.step({});
      const good = await training.saveBytes();
      const other = await run(made("adamW", to));
      // One draw: each load traces a conversion, and twenty pairs of formats draw.
      await expectRefusals(good, other, 1);
      await other.loadBytes(good);
    },
  );
});

it.each(["f16", "f8e4m3", "u8"] as const)(
  "scales of another shape do not decode states %s",
  async (states) => {
    const { tensors, metadata } = tensorsOfBytes(await (await run(made("adamW", states))).saveBytes());
    const [entry = ""] = Object.keys(tensors).filter((name) => isScale(name) && name.endsWith("/wide"));
    const other = tensor(Float32Array.of(1, 1), [2]);
    const bytes = bytesOfTensors({ tensors: { ...tensors, [entry]: other }, metadata });
    for (const to of STATE_FORMATS) {
      const loading = (await run(made("adamW", to))).loadBytes(bytes);
      await expect(loading, to).rejects.toMatchObject(mismatch(entry));
    }
  },
);
