/** Every optimizer with state stores it in every format, alone, in a chain, in groups and in objectives. */

import { type HostTensor, key, type Tensor, type TensorTree, tensor } from "@mp/graph";
import { mul, reduceMean } from "@mp/graph/ops";
import { reference } from "@mp/graph/reference";
import { describe, expect, it } from "vitest";
import { runTrees } from "../../graph/test/run-traced.js";
import * as optim from "../src/entries/optim.js";
import type { Optimizer } from "../src/optim/optimizer.js";
import { float32 } from "../src/precision/presets.js";
import type { PrecisionReport } from "../src/train/report/report.js";
import { trainer } from "../src/train/trainer.js";
import { wave } from "./small-run.js";
import { statefulOptimizers } from "./stateful-optimizers.js";

const { adam, lion, rmsProp } = optim;

const FORMATS = ["bf16", "f16", "f8e4m3", "u8"] as const;
const ROUNDINGS = ["nearest", "stochastic"] as const;

/** A matrix of full rank: `muon` makes the smallest of its singular values as large as the others. */
const rough = tensor(
  Float32Array.from({ length: 1200 }, (_, at) => Math.sin(0.7 * at * at)),
  [40, 30],
);

/** The updates of two steps, and the state after them. */
function twoSteps(optimizer: Optimizer): { readonly updates: readonly number[]; readonly state: object } {
  const data = { w: wave([40, 30], 0.7), g: rough, step: tensor(Int32Array.of(0), []) };
  const made = runTrees(data, (given) => {
    const { w, g, step } = given as Readonly<Record<string, Tensor>>;
    const context = { step: step as Tensor, key: key(5) };
    const first = optimizer.update(g as Tensor, optimizer.init(w as Tensor), w as Tensor, context);
    return optimizer.update(
      mul(g as Tensor, 0.5),
      first.state,
      w as Tensor,
      context,
    ) as unknown as TensorTree;
  }) as unknown as { readonly updates: HostTensor<"f32">; readonly state: object };
  return { updates: [...made.updates.data], state: made.state };
}

describe.each(Object.entries(statefulOptimizers))("%s", (_name, make) => {
  const exact = twoSteps(make({ learningRate: 0.1 })).updates;
  const most = Math.max(...exact.map(Math.abs));

  it.each(FORMATS.flatMap((states) => ROUNDINGS.map((rounding) => [states, rounding] as const)))(
    "with states %s, rounded %s, steps as in f32 but for the format's rounding",
    (states, rounding) => {
      const optimizer = make({ learningRate: 0.1, states, rounding, minU8Elements: 1 });
      const { updates, state } = twoSteps(optimizer);
      const dtypes = new Set(
        Object.values(state as Readonly<Record<string, HostTensor>>).map(({ dtype }) => dtype),
      );
      expect(dtypes).toContain(states);
      const far = updates.filter((update, at) => !(Math.abs(update - (exact[at] as number)) <= 0.25 * most));
      // The smallest second moments of a tensor become 0 in so few bits, and the steps that they divide large.
      expect(far.length).toBeLessThanOrEqual(states === "f8e4m3" ? 0.01 * updates.length : 0);
      const isByElement = states === "bf16" && rounding === "nearest";
      expect(optimizer.scope).toBe(isByElement ? make({ learningRate: 0.1 }).scope : "leaf");
    },
  );
});

it("stochastic rounding of a step without a key is refused", () => {
  const optimizer = adam({ learningRate: 0.1, states: "bf16", rounding: "stochastic" });
  const w = wave([3, 2], 0.7);
  expect(() =>
    runTrees({ w }, (given) => {
      const { w: weights } = given as { w: Tensor };
      return optimizer.update(weights, optimizer.init(weights), weights, { step: weights }).updates;
    }),
  ).toThrow(/scaleByAdam: rounding "stochastic" draws numbers: pass update a context with a key/);
});

it("a slot that an optimizer does not have is refused, and so is what is not a plain object", () => {
  const started = (states: unknown) => () =>
    runTrees({ w: wave([3, 2], 0.7) }, (given) =>
      adam({ learningRate: 0.1, states: states as "u8" }).init((given as { w: Tensor }).w),
    );
  expect(started({ maximum: "u8" })).toThrow(
    /scaleByAdam: states\.maximum must be left out: with these options it has no such slot, only mean, square/,
  );
  expect(started(new Map())).toThrow(/states must be "f32" or/);
  expect(started({ mean: "u8" })).not.toThrow();
});

it("chains, groups and objectives keep such states apart, and resume them with the same bits", async () => {
  const few = { states: "u8", rounding: "stochastic", minU8Elements: 1 } as const;
  const run = async () =>
    trainer({
      backend: await reference(),
      params: { a: wave([20, 30], 0.7), b: wave([7, 3], 1.3), c: wave([5, 5], 0.3) },
      precision: float32(),
      objectives: {
        first: {
          params: { a: true },
          loss: ({ a }: { readonly a: Tensor }, { x }: { readonly x: Tensor }) =>
            reduceMean(mul(mul(a, a), x)),
          optimizer: optim.chain(
            optim.clipByGlobalNorm(1),
            optim.scaleByAdam(few),
            optim.scaleByLearningRate(0.1),
          ),
        },
        second: {
          params: { b: true, c: true },
          loss: ({ b, c }: { readonly b: Tensor; readonly c: Tensor }, { x }: { readonly x: Tensor }) =>
            mul(mul(reduceMean(mul(b, b)), reduceMean(mul(c, c))), x),
          optimizer: optim.byPath(
            [{ group: "own", paths: "b", optimizer: lion({ learningRate: 0.1, ...few }) }],
            rmsProp({ learningRate: 0.1, ...few, states: "f16" }),
          ),
        },
      },
      onWarning: () => undefined,
    } as never) as unknown as Promise<{
      step(batch: object): Promise<unknown>;
      saveBytes(): Promise<Uint8Array>;
      loadBytes(bytes: Uint8Array): Promise<unknown>;
      precisionReport(batch: object): Promise<Readonly<Record<"first" | "second", PrecisionReport>>>;
    }>;
  const x = { x: tensor(Float32Array.of(0.7), []) };
  const training = await run();
  await training.step(x);
  const resumed = await run();
  await resumed.loadBytes(await training.saveBytes());
  for (const each of [training, resumed]) await each.step(x);
  expect(await resumed.saveBytes()).toEqual(await training.saveBytes());
  const { first, second } = await training.precisionReport(x);
  const [ofFirst, ofSecond] = [first, second].map(({ optimizer: { tensors } }) =>
    tensors.map(({ slot, parameter, format }) => `${slot} of ${parameter} in ${format}`).sort(),
  );
  expect(ofFirst).toEqual(["parts/1/mean of a in u8", "parts/1/square of a in u8"]);
  expect(ofSecond).toEqual(["default/square of c in f16", "own/mean of b in u8"]);
});

it("a checkpoint of other formats or of other groups goes on, and of both its state starts new", async () => {
  const run = async (states: "f32" | "u8", isGrouped: boolean) => {
    const optimizer = adam({ learningRate: 0.1, states, minU8Elements: 1 });
    return trainer({
      backend: await reference(),
      params: { a: wave([20, 30], 0.7), b: wave([7, 3], 1.3) },
      loss: ({ a, b }) => mul(reduceMean(mul(a, a)), reduceMean(mul(b, b))),
      optimizer: isGrouped ? optim.byPath([{ group: "own", paths: "b", optimizer }], optimizer) : optimizer,
      precision: float32(),
      onWarning: () => undefined,
    });
  };
  const training = await run("f32", false);
  await training.step({});
  const bytes = await training.saveBytes();
  await (await run("u8", false)).loadBytes(bytes);
  const grouped = await run("f32", true);
  await grouped.loadBytes(bytes);
  await (await run("u8", true)).loadBytes(await grouped.saveBytes());
  const both = await run("u8", true);
  await both.loadBytes(bytes);
  expect(both.warnings.map(({ message }) => message).join()).toMatch(/starts new: optimizer\/default\/mean/);
});
