/** User errors: each gives a coded error that names it, and the run continues as if nothing had happened. */
import { type ErrorCode, float32, type HostTensor, mixedFloat16, type Tensor, trainer } from "@mp/core";
import { add, exp, matMul, mul, reduceSum } from "@mp/core/ops";
import type { ConformanceCase } from "../../conformance-case.js";
import { expectCode, expectEqual, expectThat } from "../../expectations.js";
import { generated } from "../../samples/host-data.js";
import {
  exactSgd,
  type Fed,
  filled,
  linear,
  type NoModel,
  vector,
  type WeightsOf,
} from "../../training/problems.js";
import { scenarioCase } from "../../training/scenario.js";
import { expectSameState, withTrainer } from "../../training/session.js";

type Bad = readonly [what: string, code: ErrorCode, batch: unknown, names: string];

const badBatches = (): readonly Bad[] => [
  ["a batch of another shape", "MP_SHAPE_MISMATCH", { x: filled([2, 2], 1) }, "2, 2"],
  ["a batch of another dtype", "MP_DTYPE_MISMATCH", { x: generated("i32", [3], () => 1) }, "i32"],
  ["an empty batch", "MP_INVALID_ARGUMENT", { x: filled([0], 1) }, "batch/x"],
  ["a batch that lacks a tensor", "MP_INVALID_ARGUMENT", {}, ""],
  ["a batch with a number in it", "MP_INVALID_ARGUMENT", { x: 1 }, "batch"],
  ["no batch", "MP_INVALID_ARGUMENT", undefined, ""],
];

const batches: ConformanceCase = scenarioCase<readonly number[]>(
  "bad-input/step/is-refused-and-forgotten",
  (backend) =>
    withTrainer<WeightsOf, Fed, NoModel, number[]>(
      backend,
      {
        params: { w: filled([3], 0) },
        // With broadcasting alone, a batch of any compatible shape would be accepted; a product accepts only one.
        loss: ({ w }, { x }) => reduceSum(mul(w, add(x, matMul(x, w)))),
        optimizer: exactSgd(),
        precision: float32(),
      },
      async ({ training, snapshot }) => {
        await training.step({ x: vector(1, 2, 3) });
        const before = await snapshot();
        for (const [what, code, batch, name] of badBatches()) {
          const error = await expectCode(code, `a step on ${what}`, () =>
            training.step(batch as { x: HostTensor }),
          );
          expectThat(
            error.message.includes(name),
            `the error for ${what} does not say "${name}": ${error.message}`,
          );
        }
        expectSameState(await snapshot(), before, "the state after refused batches");
        await training.step({ x: vector(1, 2, 3) });
        return Array.from((await training.parameters()).w.data);
      },
    ),
  (got, want) =>
    expectEqual(
      got.map((x) => x.toFixed(4)),
      want.map((x) => x.toFixed(4)),
      "the weights in the end",
    ),
);

type Loss = (weights: { readonly w: Tensor }, batch: Fed) => unknown;

let leaked: Tensor | undefined;

/** Invalid losses, found at the first step. */
const badLosses: Readonly<Record<string, readonly [ErrorCode, Loss]>> = {
  "a loss that is no scalar": ["MP_SHAPE_MISMATCH", ({ w }, { x }) => mul(w, x)],
  "a loss that is no tensor": ["MP_INVALID_ARGUMENT", () => 1],
  "a loss that is a promise": ["MP_INVALID_ARGUMENT", ({ w }) => Promise.resolve(reduceSum(w))],
  "shapes that do not meet": ["MP_SHAPE_MISMATCH", ({ w }, { x }) => reduceSum(add(w, matMul(x, x)))],
  "arithmetic of JavaScript's": [
    "MP_INVALID_ARGUMENT",
    ({ w }) => reduceSum(mul(w, (w as unknown as number) * 2)),
  ],
  "a tensor of another trace": [
    "MP_INVALID_ARGUMENT",
    ({ w }) => {
      leaked ??= w;
      return reduceSum(mul(leaked, w));
    },
  ],
};

const losses: ConformanceCase = scenarioCase<null>(
  "bad-input/loss/is-refused-with-a-code",
  async (backend) => {
    for (const [what, [code, loss]] of Object.entries(badLosses)) {
      const turns = what === "a tensor of another trace" ? 2 : 1;
      for (let turn = 0; turn < turns; turn++) {
        const options = {
          params: { w: filled([2, 3], 1) },
          loss: loss as never,
          optimizer: exactSgd(),
          precision: float32(),
        };
        await withTrainer<WeightsOf, Fed, NoModel, void>(backend, options, async ({ training }) => {
          const step = (): Promise<unknown> => training.step({ x: filled([2, 3], 1) });
          if (turn === turns - 1) await expectCode(code, `a step with ${what}`, step);
          else await step();
        });
      }
    }
    leaked = undefined;
    return null;
  },
  () => undefined,
);

/** -1e9 is not a number of f16: in other frameworks softmax masks silently become -infinity there. */
const constants: ConformanceCase = scenarioCase<null>(
  "bad-input/constant/out-of-a-halfs-range-is-an-error",
  (backend) =>
    withTrainer<WeightsOf, Fed, NoModel, null>(
      backend,
      {
        params: { w: filled([2, 2], 1) },
        loss: ({ w }, { x }) => reduceSum(matMul(add(matMul(x, w), -1e9), w)),
        optimizer: exactSgd(),
        precision: mixedFloat16(),
      },
      async ({ training }) => {
        const error = await expectCode("MP_OUT_OF_RANGE", "a constant of -1e9 in f16", () =>
          training.step({ x: filled([2, 2], 1) }),
        );
        expectThat(
          error.message.includes("-1000000000") || error.message.includes("-1e"),
          `the error does not name the number: ${error.message}`,
        );
        return null;
      },
    ),
  () => undefined,
);

const ended: ConformanceCase = scenarioCase<null>(
  "bad-input/trainer/after-its-end",
  async (backend) => {
    const options = {
      backend,
      params: { w: vector(1) },
      loss: linear,
      optimizer: exactSgd(),
      precision: float32(),
      onWarning: () => undefined,
    };
    const training = await trainer<WeightsOf, Fed, NoModel, string>(options);
    await training.step({ x: vector(1) }).finally(() => training.dispose());
    await training.dispose();
    const calls: Readonly<Record<string, () => Promise<unknown>>> = {
      step: () => training.step({ x: vector(1) }),
      evaluate: () => training.evaluate({ x: vector(1) }),
      predict: () => training.predict(({ w }: { readonly w: Tensor }) => exp(w), {}),
      parameters: () => training.parameters(),
      counters: () => training.counters(),
    };
    for (const [verb, call] of Object.entries(calls))
      await expectCode("MP_DISPOSED", `${verb} after dispose`, call);
    await expectCode("MP_DTYPE_MISMATCH", "a trainer with parameters in i32", () =>
      trainer({ ...options, params: { w: generated("i32", [1], () => 1) } as never }),
    );
    return null;
  },
  () => undefined,
);

export const badInputCases: readonly ConformanceCase[] = [batches, losses, constants, ended];
