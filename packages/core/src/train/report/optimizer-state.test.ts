import {
  byteLength,
  type FloatDType,
  floatFormats,
  type HostTensor,
  isFloat,
  mapTensors,
  type Tensor,
  type TensorTree,
  tensor,
} from "@mp/graph";
import { add, cast, literal, mul, reduceSum } from "@mp/graph/ops";
import { reference } from "@mp/graph/reference";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { numbersOf } from "../../../../graph/test/evaluate-op.js";
import { runTraced } from "../../../../graph/test/run-traced.js";
import { tensorsOfBytes } from "../../checkpoint/bytes.js";
import { adamW } from "../../optim/adam.js";
import { byPath } from "../../optim/by-path.js";
import { lion } from "../../optim/lion.js";
import type { Optimizer } from "../../optim/optimizer.js";
import { momentum, sgd } from "../../optim/sgd.js";
import { decodeState, STATE_FORMATS } from "../../optim/states/state-format.js";
import { trainer } from "../trainer.js";
import type { StateTensor } from "./optimizer-state.js";
import type { PrecisionReport } from "./report.js";

/** Momentum as a user may write it, with state in a dtype without a scale and a count of its steps. */
function byHand(dtype: FloatDType): Optimizer {
  const plain = momentum({ learningRate: 0.1 });
  const inDtype = (state: unknown, to: FloatDType): TensorTree =>
    mapTensors((v) => cast(v, to), state as TensorTree);
  return {
    ...plain,
    init: (parameters) => ({ own: inDtype(plain.init(parameters), dtype), steps: literal(0, "i32") }),
    update: (gradients, state, parameters, context) => {
      const { own, steps } = state as unknown as { readonly own: TensorTree; readonly steps: Tensor };
      const result = plain.update(gradients, inDtype(own, "f32") as never, parameters, context);
      return { ...result, state: { own: inDtype(result.state, dtype), steps: add(steps, 1) } };
    },
  };
}

/** Makes a step with the batch as gradients; returns the report, and the state as a checkpoint has it. */
async function reported(optimizer: Optimizer, gradients: Readonly<Record<string, Float32Array>>) {
  const batch = Object.fromEntries(
    Object.entries(gradients).map(([name, data]) => [name, tensor(data, [data.length])]),
  );
  const training = await trainer({
    backend: await reference(),
    params: Object.fromEntries(
      Object.entries(gradients).map(([name, { length }]) => [
        name,
        tensor(new Float32Array(length), [length]),
      ]),
    ),
    loss: (weights: Readonly<Record<string, Tensor>>, fed: Readonly<Record<string, Tensor>>) =>
      Object.entries(weights)
        .map(([name, weight]) => reduceSum(mul(weight, fed[name] as Tensor)))
        .reduce(add),
    optimizer,
    onWarning: () => undefined,
  } as never);
  try {
    const { applied } = await training.step(batch as never);
    expect(applied).toBe(true);
    const { tensors } = tensorsOfBytes(await training.saveBytes());
    const report = (await training.precisionReport(batch as never)) as PrecisionReport;
    return { report, tensors };
  } finally {
    await training.dispose();
  }
}

type Expected = Omit<StateTensor, "slot" | "parameter" | "histogram"> & {
  readonly largest: number;
  readonly exponents: readonly number[];
};

/** Counts a tensor of a checkpoint on the host. */
function direct(codes: HostTensor, scales: HostTensor | undefined, isSigned: boolean): Expected {
  const fed = { codes, ...(scales === undefined ? {} : { scales }) };
  const { values } = runTraced(fed, ({ codes, scales }) => ({
    values:
      scales === undefined
        ? cast(codes as Tensor, "f32")
        : decodeState({ codes: codes as Tensor, scales }, isSigned ? "both" : "nonNegative"),
  })) as { readonly values: HostTensor };
  const sizes = numbersOf(values).map(Math.abs);
  const nonzero = sizes.filter((size) => size > 0);
  const { dtype } = codes;
  const share = (found: readonly number[]): number => found.length / sizes.length;
  const isBelow = (size: number): boolean =>
    size > 0 && isFloat(dtype) && size < floatFormats[dtype].minNormal;
  const exponents = nonzero.map((size) => Math.max(-127, Math.floor(Math.log2(size))));
  return {
    format: dtype,
    bytes: byteLength(codes) + (scales === undefined ? 0 : byteLength(scales)),
    bytesInF32: 4 * sizes.length,
    largest: Math.max(...sizes),
    exponents: nonzero.length === 0 ? [] : [Math.min(...exponents), Math.max(...exponents)],
    zero: share(sizes.filter((size) => size === 0)),
    subnormal: share(isFloat(dtype) ? numbersOf(codes).map(Math.abs).filter(isBelow) : []),
  };
}

const seen = ({ slot: _slot, parameter: _parameter, histogram, ...rest }: StateTensor): Expected => {
  const { first, counts, largest } = histogram;
  return { ...rest, largest, exponents: counts.length === 0 ? [] : [first, first + counts.length - 1] };
};

/** Gradients of many magnitudes, some 0. */
const gradient = fc
  .array(
    fc
      .tuple(fc.double({ min: -2, max: 2, noNaN: true }), fc.integer({ min: -30, max: 8 }))
      .map(([digits, exponent]) => Math.fround(digits * 2 ** exponent)),
    { minLength: 1, maxLength: 700 },
  )
  .map((values) => Float32Array.from(values));

const format = fc.constantFrom(...STATE_FORMATS);
const few = { learningRate: 0.1, minU8Elements: 1 };
const optimizer: fc.Arbitrary<Optimizer> = fc.oneof(
  format.map((states) => adamW({ ...few, states })),
  fc.tuple(format, format).map(([mean, square]) => adamW({ ...few, states: { mean, square } })),
  fc
    .tuple(format, format)
    .map(([states, others]) =>
      byPath(
        [{ group: "own", paths: "w", optimizer: lion({ ...few, states }) }],
        adamW({ ...few, states: others }),
      ),
    ),
  fc.constantFrom("f16", "bf16", "f8e4m3", "f8e5m2", "f32").map((dtype) => byHand(dtype as FloatDType)),
);

describe("optimizer state in the precision report", () => {
  it("has every tensor's bytes, range and shares as a direct count of the checkpoint gives them", async () => {
    await fc.assert(
      fc.asyncProperty(optimizer, gradient, gradient, async (optimizer, w, other) => {
        const { report, tensors } = await reported(optimizer, { w, other });
        const names = Object.keys(tensors).filter((name) => /^optimizer\/(?!steps)/.test(name));
        const codes = names.filter((name) => !/\.(scale|absmax|max)\//.test(name));
        expect(
          report.optimizer.tensors.map(({ slot, parameter }) => `optimizer/${slot}/${parameter}`).sort(),
        ).toEqual(codes.sort());
        for (const found of report.optimizer.tensors) {
          const { slot, parameter } = found;
          const at = (ending: string): HostTensor | undefined =>
            tensors[`optimizer/${slot}${ending}/${parameter}`];
          const scales = at(".scale") ?? at(".absmax") ?? at(".max");
          const wanted = direct(at("") as HostTensor, scales, at(".max") === undefined);
          // A mean in f32 may be off by a digit.
          expect(seen(found)).toEqual({ ...wanted, subnormal: expect.closeTo(wanted.subnormal, 6) });
        }
        const { kinds, optimizerInF32 } = report.memory;
        const steps = tensors["optimizer/steps"] === undefined ? 0 : 4;
        const bytes = names.reduce((sum, name) => sum + byteLength(tensors[name] as HostTensor), steps);
        const elements = codes.reduce((sum, name) => sum + (tensors[name]?.data.length ?? 0), 0);
        expect([kinds.optimizer, optimizerInF32]).toEqual([bytes, 4 * elements + steps]);
      }),
      { numRuns: 8 },
    );
  });

  it("begins with what has lost most; zeros of f32 are no loss", async () => {
    const w = Float32Array.of(1, 2 ** -20, 2 ** -30, 0);
    const shares = async (dtype: FloatDType, other: Float32Array) =>
      (await reported(byHand(dtype), { other, w })).report.optimizer.tensors.map(
        ({ parameter, zero, subnormal }) => [parameter, zero, subnormal],
      );
    const ones = new Float32Array(4).fill(1);
    expect(await shares("f16", ones)).toEqual([
      ["w", 0.5, 0.25],
      ["other", 0, 0],
    ]);
    expect(await shares("f32", new Float32Array(4))).toEqual([
      ["other", 1, 0],
      ["w", 0.25, 0],
    ]);
  });

  it("is empty where the optimizer keeps nothing", async () => {
    const { report } = await reported(sgd({ learningRate: 0.1 }), { w: Float32Array.of(1) });
    expect(report.optimizer).toEqual({ isShare: false, tensors: [] });
    expect(report.memory.optimizerInF32).toBe(0);
  });
});
