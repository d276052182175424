// Groups of parameters: each with its own optimizer, rate and decay, as PyTorch's parameter groups are.

import { printGraph } from "@mp/graph";
import { cast, div } from "@mp/graph/ops";
import { describe, expect, it } from "vitest";
import { adam, adamW } from "../../src/optim/adam.js";
import { biasesAndNorms, byPath, type PathRule } from "../../src/optim/by-path.js";
import { chain } from "../../src/optim/chain.js";
import { clipByGlobalNorm } from "../../src/optim/clip.js";
import type { Optimizer } from "../../src/optim/optimizer.js";
import { linearSchedule } from "../../src/optim/schedules/linear-schedule.js";
import { momentum, sgd } from "../../src/optim/sgd.js";
import { weightDecay } from "../../src/optim/weight-decay.js";
import { mixedFloat16 } from "../../src/precision/presets.js";
import { batch, params, type SmallOptions, type SmallTrainer, smallRun, stateOf } from "../small-run.js";

/** Parameters after some steps. */
async function after(options: Partial<SmallOptions>, steps = 3) {
  const training = await smallRun(options);
  for (let step = 0; step < steps; step++) await training.step(batch(step));
  const found = await training.parameters();
  await training.dispose();
  return found;
}

/** `hidden` after a step of the one optimizer, `out` after one of the other: what groups must give together. */
async function apart(hidden: Optimizer, out: Optimizer, options: Partial<SmallOptions> = {}) {
  const [a, b] = await Promise.all([
    after({ ...options, optimizer: hidden }, 1),
    after({ ...options, optimizer: out }, 1),
  ]);
  return { hidden: a.hidden, out: b.out };
}

describe("groups of parameters", () => {
  const [slow, fast] = [adamW({ learningRate: 1e-3, weightDecay: 0.5 }), momentum({ learningRate: 0.1 })];
  const rules: readonly PathRule[] = [{ group: "top", paths: "out", optimizer: fast }];

  it.each<[string, Partial<SmallOptions>]>([
    ["whole", {}],
    ["in mixed float16", { precision: mixedFloat16() }],
    ["with a norm that is clipped over all of them", { clipNorm: 0.05 }],
  ])("make the step that their optimizers make of all: %s", async (_title, options) => {
    const together = await after({ ...options, optimizer: byPath(rules, slow) }, 1);
    expect(together).toEqual(await apart(slow, fast, options));
  });

  it("of one rule without matches are the optimizer itself, step after step", async () => {
    const optimizer = byPath([{ group: "none", paths: () => false, optimizer: fast }], slow);
    expect(await after({ optimizer })).toEqual(await after({ optimizer: slow }));
  });

  it("go to the first rule that matches, by path, by paths below, or by a function", async () => {
    const [still, one, two] = [0, 0.5, 0.25].map((learningRate) => sgd({ learningRate })) as [
      Optimizer,
      Optimizer,
      Optimizer,
    ];
    const by = (...rules: readonly PathRule[]): Promise<ReturnType<typeof params>> =>
      after({ optimizer: byPath(rules, still) }, 1);
    const [none, first, second] = [
      params(),
      await after({ optimizer: one }, 1),
      await after({ optimizer: two }, 1),
    ];
    expect(await by({ group: "a", paths: "hidden", optimizer: one })).toEqual({
      ...none,
      hidden: first.hidden,
    });
    expect(
      await by(
        { group: "a", paths: "hidden/b", optimizer: two },
        { group: "b", paths: ["hidden", "out"], optimizer: one },
      ),
    ).toEqual({ hidden: { w: first.hidden.w, b: second.hidden.b }, out: first.out });
    expect(await by({ group: "a", paths: (path) => path.startsWith("hid"), optimizer: two })).toEqual({
      ...none,
      hidden: second.hidden,
    });
  });

  it("leave biases and norms without decay in one call", async () => {
    const make = (decay: number) => adamW({ learningRate: 0.01, weightDecay: decay });
    const optimizer = byPath([{ group: "flat", paths: biasesAndNorms, optimizer: make(0) }], make(0.5));
    const [decayed, plain] = [
      await after({ optimizer: make(0.5) }, 1),
      await after({ optimizer: make(0) }, 1),
    ];
    expect(await after({ optimizer }, 1)).toEqual({
      hidden: { w: decayed.hidden.w, b: plain.hidden.b },
      out: decayed.out,
    });
    expect(plain.hidden.b).not.toEqual(decayed.hidden.b);
  });

  it("clip by the norm of all in a chain around them, by that of a group in a chain inside", async () => {
    const [a, b] = [sgd({ learningRate: 1 }), sgd({ learningRate: 2 })];
    const limit = 0.05;
    const around = chain(clipByGlobalNorm(limit), byPath([{ group: "top", paths: "out", optimizer: b }], a));
    const clipped = (optimizer: Optimizer) => chain(clipByGlobalNorm(limit), optimizer);
    expect(await after({ optimizer: around }, 1)).toEqual(await apart(clipped(a), clipped(b)));
    const inside = byPath([{ group: "top", paths: "out", optimizer: clipped(b) }], a);
    const rest = { hidden: true } as const;
    const [alone, all] = [
      await after({ optimizer: clipped(b), frozen: rest }, 1),
      await after({ optimizer: a }, 1),
    ];
    expect(await after({ optimizer: inside }, 1)).toEqual({ hidden: all.hidden, out: alone.out });
    expect(await after({ optimizer: inside }, 1)).not.toEqual(await after({ optimizer: around }, 1));
  });

  it("go beside frozen parameters, which belong to none", async () => {
    const optimizer = byPath([{ group: "a", paths: "hidden", optimizer: fast }], slow);
    const training = await smallRun({ optimizer, frozen: { hidden: { w: true } } });
    for (let step = 0; step < 2; step++) await training.step(batch(step));
    const { hidden } = await training.parameters();
    expect(hidden.w).toEqual(params().hidden.w);
    expect(hidden.b).not.toEqual(params().hidden.b);
    const slots = training.graph(batch(0)).inputs.map(({ name }) => name);
    expect(slots.filter((name) => name.startsWith("state/optimizer"))).toEqual([
      "state/optimizer/a/velocity/hidden/b",
      "state/optimizer/default/mean/out",
      "state/optimizer/default/square/out",
    ]);
    const frozen = await smallRun({ optimizer, frozen: { hidden: true } });
    expect(await frozen.step(batch(0))).toMatchObject({ applied: true, rates: { a: 0.1, default: 1e-3 } });
  });

  it("skip as one: what is not finite in one of them leaves all as they are", async () => {
    const wild: Optimizer = { ...sgd({ learningRate: 1 }), learningRates: {}, name: "wild" };
    const overflowing: Optimizer = {
      ...wild,
      update: (gradients, state, parameters, context) => ({
        ...wild.update(gradients, state, parameters, context),
        // 1 / 0 at the first step.
        rates: [div(1, cast(context.step, "f32"))],
      }),
    };
    const training = await smallRun({
      optimizer: byPath([{ group: "top", paths: "out", optimizer: overflowing }], slow),
    });
    expect(await training.step(batch(0))).toMatchObject({ applied: false });
    expect(await training.parameters()).toEqual(params());
  });
});

describe("the rates of a step", () => {
  it("are constants and computed ones by group, groups in groups too", async () => {
    const schedule = linearSchedule(0.5, 0, 4);
    const inner = byPath(
      [{ group: "flat", paths: biasesAndNorms, optimizer: sgd({ learningRate: schedule }) }],
      chain(weightDecay(0.1), sgd({ learningRate: 0.25 })),
    );
    const optimizer = byPath(
      [{ group: "body", paths: "hidden", optimizer: inner }],
      adam({ learningRate: 1e-3 }),
    );
    for (const accumulate of [1, 2]) {
      const training = await smallRun({ optimizer, accumulate });
      const rates: unknown[] = [];
      for (let step = 0; step < 2; step++) {
        rates.push((await training.step(...Array.from({ length: accumulate }, () => batch(step)))).rates);
      }
      expect(rates).toEqual([
        { body: 0.25, "body.flat": 0.5, default: 1e-3 },
        { body: 0.25, "body.flat": 0.375, default: 1e-3 },
      ]);
      await training.dispose();
    }
  });

  it("without groups are the default's, and none of an optimizer that does not say", async () => {
    const plain = await smallRun({ optimizer: momentum({ learningRate: linearSchedule(1, 0, 2) }) });
    expect((await plain.step(batch(0))).rates).toEqual({ default: 1 });
    expect((await plain.step(batch(0))).rates).toEqual({ default: 0.5 });
    const { learningRates: _rates, ...silent } = sgd({ learningRate: 0.1 });
    expect((await (await smallRun({ optimizer: silent })).step(batch(0))).rates).toEqual({});
  });

  it("of a constant cost the graph nothing", async () => {
    const { learningRates: _rates, ...silent } = sgd({ learningRate: 0.1 });
    const [explicit, implicit] = await Promise.all(
      [sgd({ learningRate: 0.1 }), silent].map((optimizer) => smallRun({ optimizer })),
    );
    const [a, b] = [explicit, implicit].map((training) =>
      printGraph((training as SmallTrainer).graph(batch(0))),
    );
    expect(a).toEqual(b);
  });
});

describe("groups are refused:", () => {
  const one = sgd({ learningRate: 1 });
  it.each<[string, () => unknown, RegExp | string]>([
    ["no list", () => byPath({} as never, one), "byPath: takes a list of rules and an optimizer"],
    [
      "no name",
      () => byPath([{ paths: "a", optimizer: one } as never], one),
      /the group of rule 0, undefined, is no text/,
    ],
    [
      "a taken name",
      () => byPath([{ group: "default", paths: "a", optimizer: one }], one),
      /what no rule matches/,
    ],
    ["a slash", () => byPath([{ group: "a/b", paths: "a", optimizer: one }], one), /contains a slash/],
    ["a dot", () => byPath([{ group: "a.b", paths: "a", optimizer: one }], one), /contains a dot/],
    [
      "one name twice",
      () =>
        byPath(
          ["a", "b"].map((paths) => ({ group: "g", paths, optimizer: one })),
          one,
        ),
      /two groups are named g/,
    ],
    [
      "one name twice, of optimizers that do not tell their rates",
      () =>
        byPath(
          ["a", "b"].map((paths) => ({ group: "g", paths, optimizer: { ...one, learningRates: {} } })),
          one,
        ),
      /two groups are named g/,
    ],
    ["no path", () => byPath([{ group: "g", paths: [], optimizer: one }], one), /paths of g must be names/],
    [
      "an empty name in a path",
      () => byPath([{ group: "g", paths: "/a", optimizer: one }], one),
      /paths of g must be names/,
    ],
    ["no optimizer", () => byPath([{ group: "g", paths: "a" } as never], one), /g takes an optimizer/],
    ["no default", () => byPath([], undefined as never), /default takes an optimizer/],
    [
      "what gives gradients",
      () => byPath([{ group: "g", paths: "a", optimizer: weightDecay(1) as never }], one),
      /gives gradients and no steps/,
    ],
  ])("%s", (_what, make, message) => {
    expect(make).toThrow(message);
    expect(make).toThrow(expect.objectContaining({ code: "MP_INVALID_ARGUMENT" }));
  });

  it.each([
    ["a promise", async () => false, "got a promise"],
    ["text", () => "yes", 'got "yes"'],
  ])("%s from a function of paths, which would take every parameter", async (_what, paths, message) => {
    const optimizer = byPath([{ group: "g", paths: paths as never, optimizer: one }], one);
    await expect(smallRun({ optimizer })).rejects.toThrow(
      /paths of g gives true or false for each parameter/,
    );
    await expect(smallRun({ optimizer })).rejects.toThrow(message);
  });

  it("a path that the parameters do not have, when training begins", async () => {
    const optimizer = byPath([{ group: "g", paths: ["out", "hiden"], optimizer: one }], one);
    await expect(smallRun({ optimizer })).rejects.toThrow(
      "byPath: group g: the parameters have no hiden; did you mean hidden?",
    );
  });
});

it("a run with groups resumes with the same bits", async () => {
  const optimizer = byPath(
    [{ group: "top", paths: "out", optimizer: momentum({ learningRate: 0.1 }) }],
    adamW({ learningRate: linearSchedule(0.1, 0, 9) }),
  );
  const whole = await smallRun({ optimizer });
  for (let step = 0; step < 3; step++) await whole.step(batch(step));
  const resumed = await smallRun({ optimizer });
  await resumed.loadBytes(await whole.saveBytes());
  for (let step = 3; step < 6; step++)
    expect(await resumed.step(batch(step))).toEqual(await whole.step(batch(step)));
  expect(await stateOf(resumed)).toEqual(await stateOf(whole));
  expect(resumed.warnings).toEqual([]);
});
