/** Published bugs of other projects, each as its smallest input; docs/public-bugs.md lists the case for each bug. */
import {
  type ComputeDType,
  floatFormats,
  GraphBuilder,
  type HalfDType,
  type HostTensor,
  tensor,
  type Value,
} from "@mp/graph";
import { EXACT } from "../compare/allowance.js";
import type { ConformanceCase } from "../conformance-case.js";
import { generate, hostData } from "../host-data.js";
import { graphCase } from "./kinds/graph-case.js";
import { sampleGraph } from "./kinds/op-cases.js";

const INFINITE = Number.POSITIVE_INFINITY;

/** Bits of infinities, and of NaNs that lose their exponent or sign if a cast rounds by adding to the bits. */
const PAYLOADS = [
  0x7fff8c22, 0x7f800001, 0xff800001, 0x7f80ffff, 0xffffffff, 0x7fffffff, 0x7f800000, 0xff800000,
];

/** The same numbers, cast to a half dtype. */
const nanCase = (to: HalfDType): ConformanceCase =>
  graphCase(`public-bugs/tilelang-2481-${to}/a-nan-of-any-payload-stays-one`, () => {
    const builder = new GraphBuilder();
    const x = builder.input("x", { dtype: "f32", shape: [PAYLOADS.length] }, "batch");
    return {
      graph: builder.finish({ y: builder.emitOne("Cast", [x], { to }) }),
      inputs: { x: tensor(new Float32Array(Uint32Array.from(PAYLOADS).buffer)) },
      want: { y: hostData(to, [...new Array<number>(6).fill(Number.NaN), INFINITE, -INFINITE]) },
      allowance: () => EXACT,
    };
  });

/** Causal attention that masks padding by the lowest finite number, which would become -∞ if added to a causal mask. */
const masksCase = (dtype: ComputeDType): ConformanceCase =>
  graphCase(`public-bugs/automodel-2658-${dtype}/causal-and-padding-masks-do-not-add-up`, () => {
    const lowest = -floatFormats[dtype].maxFinite;
    const data = (numbers: readonly number[], ...shape: number[]): HostTensor =>
      hostData(dtype, numbers, shape);
    return sampleGraph("Attention", [
      {
        attributes: { scale: 1, isCausal: true, softcap: 0 },
        inputs: [
          data([0, 0, 0, 0], 1, 1, 4, 1),
          data([0, 0, 0, 0], 1, 1, 4, 1),
          data([1, 2, 4, 8], 1, 1, 4, 1),
          // The first key is padding for all queries, the last two keys for two of them.
          data(
            [lowest, 0, lowest, lowest, lowest, 0, lowest, lowest, lowest, 0, 0, 0, lowest, 0, 0, 0],
            4,
            4,
          ),
        ],
      },
    ]);
  });

/** Two products that differ only in sign must sum to 0; a fused multiply-add returns the rounding error of one. */
const fusedCase = (dtype: ComputeDType): ConformanceCase =>
  graphCase(`public-bugs/xla-41579-${dtype}/products-are-rounded-before-their-sum`, () => {
    const builder = new GraphBuilder();
    const step = 2 ** -floatFormats[dtype].fractionBits;
    const far = dtype === "f16" ? 100.1 : 1e10;
    const factors = [1 + step, 1 + 3 * step, 1 - step / 2, 1.5 + step, far];
    const inputs = {
      a: hostData(dtype, factors),
      b: hostData(
        dtype,
        factors.map((x) => -x),
      ),
      x: hostData(dtype, factors),
    };
    const [a, b, x] = (["a", "b", "x"] as const).map((name) => builder.input(name, inputs[name], "batch"));
    const product = (left: Value | undefined) => builder.emitOne("Mul", [left, x] as Value[], {});
    return {
      graph: builder.finish({ sum: builder.emitOne("Add", [product(a), product(b)], {}) }),
      inputs,
      want: { sum: generate(dtype, [factors.length], () => 0) },
      allowance: () => ({ ...EXACT, signedZero: false }),
    };
  });

export const publicBugCases: readonly ConformanceCase[] = [
  ...(["f16", "bf16"] as const).map(nanCase),
  ...(["f32", "f16", "bf16"] as const).flatMap((dtype) => [masksCase(dtype), fusedCase(dtype)]),
];
