// A run goes on from a checkpoint with another mask, other groups, with or without an average or settable rates.

import { type HostTensor, tensor } from "@mp/graph";
import { mul, reduceMean } from "@mp/graph/ops";
import { reference } from "@mp/graph/reference";
import { describe, expect, it } from "vitest";
import { tensorsOfBytes } from "../../src/checkpoint/bytes.js";
import { adamW } from "../../src/optim/adam.js";
import { biasesAndNorms, byPath } from "../../src/optim/by-path.js";
import { chain } from "../../src/optim/chain.js";
import { clipByValue } from "../../src/optim/clip.js";
import { settable } from "../../src/optim/settable.js";
import { momentum, sgd } from "../../src/optim/sgd.js";
import { kahan } from "../../src/precision/master-weights.js";
import { bfloat16 } from "../../src/precision/presets.js";
import { trainer } from "../../src/train/trainer.js";
import { batch, type SmallOptions, type SmallTrainer, smallRun, stateOf, trained } from "../small-run.js";

type Tensors = Readonly<Record<string, HostTensor>>;
const tensorsIn = async (training: SmallTrainer): Promise<Tensors> =>
  tensorsOfBytes(await training.saveBytes()).tensors;

/** Two runs: one that has trained under the first options, and one under the second that has loaded it. */
async function changed(before: Partial<SmallOptions>, after: Partial<SmallOptions>) {
  const first = await trained({ optimizer, ...before });
  const second = await smallRun({ optimizer, ...after });
  const bytes = await first.saveBytes();
  await second.loadBytes(bytes);
  expect(await second.parameters()).toEqual(await first.parameters());
  expect(await second.modelState()).toEqual(await first.modelState());
  expect(await second.counters()).toEqual(await first.counters());
  const messages = second.warnings.filter(({ type }) => type === "checkpoint").map(({ message }) => message);
  expect(await second.step(batch(7))).toMatchObject({ applied: true });
  await second.loadBytes(bytes);
  return { first, second, messages, had: await tensorsIn(first), has: await tensorsIn(second) };
}

const optimizer = adamW({ learningRate: 0.05 });
const fits =
  "loadBytes: fits after a change of what is trained or kept; weights and all other state continue";

describe("another mask", () => {
  it("freezes what was trained: weights stay, the state of the rest goes on", async () => {
    const { had, has, messages } = await changed({}, { frozen: { out: true } });
    expect(messages).toEqual([
      `${fits}, nothing starts new; leaves out: optimizer/mean/out; optimizer/square/out`,
    ]);
    expect(has["frozen/out"]).toEqual(had["master/out"]);
    expect(has).not.toHaveProperty(["optimizer/mean/out"]);
    expect(has["optimizer/mean/hidden/w"]).toEqual(had["optimizer/mean/hidden/w"]);
  });

  it("trains what was frozen: it starts as a new run does, and says so", async () => {
    const { had, has, messages } = await changed({ frozen: { hidden: { w: true } } }, {});
    expect(messages).toEqual([`${fits}, starts new: optimizer/mean/hidden/w; optimizer/square/hidden/w`]);
    expect(has["master/hidden/w"]).toEqual(had["frozen/hidden/w"]);
    expect(has["optimizer/mean/hidden/w"]).toEqual(tensor(new Float32Array(12), [3, 4]));
    expect(has["optimizer/square/out"]).toEqual(had["optimizer/square/out"]);
  });

  it("does both at once, with what the master weights keep beside a weight", async () => {
    const precision = { ...bfloat16(), masterWeights: kahan("bf16") };
    const { had, has } = await changed(
      { precision, frozen: { hidden: { w: true } } },
      { precision, frozen: { out: true } },
    );
    expect(has["frozen/out"]).toEqual(had["master/value/out"]);
    expect(has["master/value/hidden/w"]).toEqual(had["frozen/hidden/w"]);
    // A parameter in a half dtype that was frozen has lost nothing.
    expect(has["master/compensation/hidden/w"]?.data.every((bits) => bits === 0)).toBe(true);
    expect(has["master/compensation/hidden/b"]).toEqual(had["master/compensation/hidden/b"]);
  });

  it("of several losses too", async () => {
    const run = async (frozen: { readonly b?: true }) =>
      trainer({
        backend: await reference(),
        params: {
          a: tensor(Float32Array.of(1, 2)),
          b: tensor(Float32Array.of(3, 4)),
          c: tensor(Float32Array.of(5)),
        },
        frozen,
        objectives: {
          first: { loss: ({ a }) => reduceMean(mul(a, a)), params: { a: true }, optimizer },
          second: {
            loss: ({ b, c }) => reduceMean(mul(b, c)),
            params: { b: true, c: true },
            optimizer,
          },
        },
        onWarning: () => undefined,
      });
    const [free, bound] = [await run({}), await run({ b: true })];
    await free.step({});
    await bound.loadBytes(await free.saveBytes());
    expect(await bound.parameters()).toEqual(await free.parameters());
    expect(bound.warnings.at(-1)?.message).toContain(
      "leaves out: optimizer/second/mean/b; optimizer/second/square/b",
    );
    await free.loadBytes(await bound.saveBytes());
    expect(free.warnings.at(-1)?.message).toContain(
      "starts new: optimizer/second/mean/b; optimizer/second/square/b",
    );
    expect(await free.step({})).toMatchObject({ first: { applied: true }, second: { applied: true } });
  });
});

describe("other groups", () => {
  const grouped = byPath([{ group: "flat", paths: biasesAndNorms, optimizer }], optimizer);

  it("of the same optimizer go on with the same bits, in both directions", async () => {
    for (const [before, after] of [
      [optimizer, grouped],
      [grouped, optimizer],
      [
        grouped,
        chain(clipByValue(1e9), byPath([{ group: "all", paths: ["hidden", "out"], optimizer }], optimizer)),
      ],
    ] as const) {
      const { first, second, messages } = await changed({ optimizer: before }, { optimizer: after });
      expect(messages[0]).toMatch(`${fits}, nothing starts new`);
      expect(messages[1]).toMatch(/goes on under other settings, optimizer/);
      for (let step = 3; step < 6; step++) {
        const [{ rates: _a, ...a }, { rates: _b, ...b }] = [
          await first.step(batch(step)),
          await second.step(batch(step)),
        ];
        expect(a).toEqual(b);
      }
      expect(await stateOf(second)).toEqual(await stateOf(first));
    }
  });

  it("of another optimizer start new, whole and told, beside what stays", async () => {
    const after = byPath(
      [{ group: "top", paths: "out", optimizer: momentum({ learningRate: 0.1 }) }],
      optimizer,
    );
    const { had, has, messages } = await changed({ optimizer: grouped }, { optimizer: after });
    expect(messages[0]).toBe(
      `${fits}, starts new: optimizer/top/velocity/out; leaves out: optimizer/default/mean/out; optimizer/default/square/out`,
    );
    expect(has["optimizer/top/velocity/out"]).toEqual(tensor(new Float32Array(4), [4, 1]));
    expect(has["optimizer/default/mean/hidden/b"]).toEqual(had["optimizer/flat/mean/hidden/b"]);
    const back = await changed({ optimizer: after }, { optimizer: grouped });
    expect(back.messages[0]).toMatch(
      /starts new: optimizer\/default\/mean\/out; optimizer\/default\/square\/out; leaves out: optimizer\/top\/velocity\/out$/,
    );
  });

  it("may freeze at the same time", async () => {
    const { has, had } = await changed({}, { optimizer: grouped, frozen: { out: true } });
    expect(has["optimizer/default/square/hidden/w"]).toEqual(had["optimizer/square/hidden/w"]);
    expect(has["frozen/out"]).toEqual(had["master/out"]);
  });
});

describe("optional parts of the state", () => {
  const ema = { decay: 0.9 };

  it("begin from the file's weights, and end without a trace", async () => {
    const { second, messages, has } = await changed({}, { ema });
    expect(messages).toEqual([
      `${fits}, starts new: ema/hidden/b; ema/hidden/w; ema/out`,
      expect.stringMatching(/goes on under other settings, ema ema\(decay 0.9, start copy\) instead of/),
    ]);
    expect(has["ema/out"]).toEqual(has["master/out"]);
    expect(await second.parameters({ weights: "ema" })).toEqual(await second.parameters());
    expect((await changed({ ema }, {})).messages).toEqual([
      `${fits}, nothing starts new; leaves out: ema/hidden/b; ema/hidden/w; ema/out`,
    ]);
    const kept = await changed({ ema, frozen: { out: true } }, { ema });
    expect(kept.messages).toEqual([`${fits}, starts new: ema/out; optimizer/mean/out; optimizer/square/out`]);
    expect(kept.has["ema/hidden/w"]).toEqual(kept.had["ema/hidden/w"]);
  });

  it("are rates that the host sets: a file without has the run's own", async () => {
    const fixed = adamW({ learningRate: 0.0625 });
    const free = adamW({ learningRate: settable(0.0625) });
    const { first, second, messages } = await changed({ optimizer: fixed }, { optimizer: free });
    expect(messages[0]).toBe(`${fits}, starts new: rates/default`);
    expect(await second.step(batch(3))).toEqual(await first.step(batch(3)));
    expect((await changed({ optimizer: free }, { optimizer: fixed })).messages[0]).toBe(
      `${fits}, nothing starts new; leaves out: rates/default`,
    );
  });

  it("make format 2; a file without them is of format 1", async () => {
    const formatOf = async (options: Partial<SmallOptions>) =>
      tensorsOfBytes(await (await smallRun(options)).saveBytes()).metadata["format"];
    expect(await formatOf({})).toBe("mp.training/1");
    expect(await formatOf({ ema })).toBe("mp.training/2");
    expect(await formatOf({ optimizer: sgd({ learningRate: settable(1) }) })).toBe("mp.training/2");
  });
});

it("another optimizer without groups is refused as before, and so is another model", async () => {
  const bytes = await (await trained({ optimizer })).saveBytes();
  for (const options of [
    { optimizer: momentum({ learningRate: 1 }) },
    { optimizer: momentum({ learningRate: 1 }), frozen: { out: true } },
    { precision: { ...bfloat16(), masterWeights: kahan("bf16") }, optimizer, frozen: { out: true } },
  ] satisfies Partial<SmallOptions>[]) {
    const training = await smallRun(options);
    const before = await stateOf(training);
    await expect(training.loadBytes(bytes)).rejects.toMatchObject({ code: "MP_CHECKPOINT_MISMATCH" });
    expect(await stateOf(training)).toEqual(before);
    expect(training.warnings.filter(({ type }) => type === "checkpoint")).toEqual([]);
  }
});
