/** Backends that are wrong in one form of Einsum. */
import { type HostTensor, isFloat } from "@mp/graph";
import { toNumbers } from "../../src/host-data.js";
import { dataOf, evaluateNode, type HostKernel, oracleWithKernels } from "./kernels.js";
import type { WrongBackend } from "./wrong-backend.js";

type Wrong = (result: HostTensor, inputs: readonly HostTensor[], equation: string) => HostTensor;

const changed =
  (wrong: Wrong): HostKernel<"Einsum"> =>
  (operands, attributes) => {
    const inputs = dataOf(operands);
    const [result] = evaluateNode("Einsum", inputs, attributes) as [HostTensor];
    return [wrong(result, inputs, attributes.equation.replaceAll(" ", ""))];
  };

const reversed = (result: HostTensor): HostTensor =>
  ({ ...result, data: result.data.slice().reverse() }) as HostTensor;

const termsOf = (equation: string): readonly string[] => (equation.split("->")[0] as string).split(",");
const repeats = (term: string): boolean => /([A-Za-z]).*\1/.test(term);
const AXES = ["op", "size", "rare"];
const DTYPES = ["f32", "f16", "bf16", "i32", "i64", "u64", "u8"];
const cases = (behaviour: string): readonly string[] =>
  DTYPES.map((dtype) => `op/Einsum-${dtype}/${behaviour}`);
const among = /\/Einsum[-/]/;

export const einsumFaults: readonly WrongBackend[] = [
  {
    fault: "diagonals of Einsum run backwards",
    factory: () =>
      oracleWithKernels({
        Einsum: changed((result, _, equation) =>
          termsOf(equation).some(repeats) ? reversed(result) : result,
        ),
      }),
    axes: AXES,
    among,
    named: cases("diagonals"),
    consequences: [
      /^op\/Einsum-\w+\/(values-of-diagonals|ellipses|values-of-ellipses|non-finite-terms)$/,
      /^size\/Einsum/,
    ],
  },
  {
    fault: "batches that Einsum broadcasts are in another order",
    factory: () =>
      oracleWithKernels({
        Einsum: changed((result, inputs, equation) =>
          equation.includes("...") && inputs.length === 2 ? reversed(result) : result,
        ),
      }),
    axes: AXES,
    among,
    named: cases("ellipses"),
    consequences: [/^op\/Einsum-\w+\/values-of-ellipses$/, /^size\/Einsum/],
  },
  {
    fault: "Einsum leaves its result in the order of the letters",
    factory: () =>
      oracleWithKernels({
        Einsum: changed((result, inputs, equation) => {
          const [left, right] = equation.split("->");
          if (right === undefined || right.includes(".")) return result;
          const inOrder = { equation: `${left}->${[...right].sort().join("")}` };
          const [other] = evaluateNode("Einsum", inputs, inOrder) as [HostTensor];
          return { ...other, shape: result.shape } as HostTensor;
        }),
      }),
    axes: AXES,
    among,
    named: cases("whole-numbers-are-exact"),
    consequences: [/^(op|size)\/Einsum[-/]/],
  },
  {
    fault: "Einsum of several operands rounds between its products",
    factory: () =>
      oracleWithKernels({
        Einsum: (operands, attributes) => {
          const inputs = dataOf(operands);
          const [first] = inputs as [HostTensor];
          const isSeveral = inputs.length > 2 && (first.dtype === "f16" || first.dtype === "bf16");
          const coarse = ({ dtype, shape, data }: HostTensor): HostTensor =>
            ({ dtype, shape, data: (data as Uint16Array).map((bits) => bits & 0xff_fc) }) as HostTensor;
          return evaluateNode("Einsum", isSeveral ? inputs.map(coarse) : inputs, attributes);
        },
      }),
    axes: AXES,
    among,
    named: ["f16", "bf16"].map((dtype) => `op/Einsum-${dtype}/values-of-several-operands`),
  },
  {
    fault: "Einsum of nothing is NaN",
    factory: () =>
      oracleWithKernels({
        Einsum: changed((result, inputs) =>
          isFloat(result.dtype) &&
          inputs.some(({ shape }) => shape.includes(0)) &&
          toNumbers(result).length > 0
            ? (evaluateNode("Div", [result, result], {})[0] as HostTensor)
            : result,
        ),
      }),
    axes: AXES,
    among,
    named: ["f32", "f16", "bf16"].map((dtype) => `op/Einsum-${dtype}/no-elements`),
  },
];
