/** Faults along one axis, at one rank, or along two axes together. */
import type { HostTensor, Op, OpAttributes } from "@mp/graph";
import { dataOf, evaluateNode, type HostKernel, oracleWithKernels } from "./kernels.js";
import type { WrongBackend } from "./wrong-backend.js";

/** A kernel that returns the oracle's results for other attributes or operands, if `change` returns some. */
const given =
  <K extends Op>(
    op: K,
    change: (
      attributes: OpAttributes[K],
      inputs: readonly HostTensor[],
    ) => { readonly attributes?: OpAttributes[K]; readonly inputs?: readonly HostTensor[] } | undefined,
  ): HostKernel<K> =>
  (operands, attributes) => {
    const inputs = dataOf(operands);
    const changed = change(attributes, inputs);
    return evaluateNode(op, changed?.inputs ?? inputs, changed?.attributes ?? attributes);
  };

const rankOf = ([x]: readonly HostTensor[]): number => x?.shape.length ?? 0;

/** A kernel that reverses the elements of the oracle's results where it is wrong. */
const backwards =
  <K extends Op>(
    op: K,
    isWrong: (attributes: OpAttributes[K], inputs: readonly HostTensor[]) => boolean,
  ): HostKernel<K> =>
  (operands, attributes) => {
    const inputs = dataOf(operands);
    const results = evaluateNode(op, inputs, attributes);
    return isWrong(attributes, inputs)
      ? results.map((result) => ({ ...result, data: result.data.slice().reverse() }) as HostTensor)
      : results;
  };

const count = (numbers: readonly number[], isCounted: (number: number) => boolean): number =>
  numbers.filter(isCounted).length;

const GROUPS = ["op", "size", "reduce", "rare", "axis", "option", "integer", "image"];
const fault = <K extends Op>(
  name: string,
  op: K,
  kernel: HostKernel<K>,
  named: readonly string[],
): WrongBackend => ({
  fault: name,
  factory: () => oracleWithKernels({ [op]: kernel }),
  axes: GROUPS,
  among: new RegExp(`/${op}[-/]`),
  named: named.map((id) => `axis/${op}-${id}`),
  consequences: [new RegExp(`^axis/${op}-`)],
});

export const axisFaults: readonly WrongBackend[] = [
  fault(
    "Tile repeats the middle axis of three once less",
    "Tile",
    (operands, attributes) => {
      const [x] = dataOf(operands) as [HostTensor];
      const [first = 1, middle = 1, last = 1] = attributes.repeats;
      const [right] = evaluateNode("Tile", [x], attributes) as [HostTensor];
      if (x.shape.length !== 3 || middle < 2 || right.data.length === 0) return [right];
      const [less] = evaluateNode("Tile", [x], { repeats: [first, 1, last] }) as [HostTensor];
      return evaluateNode("Tile", [{ ...less, shape: [less.data.length] } as HostTensor], {
        repeats: [middle],
      }).map(({ dtype, data }) => ({ dtype, shape: right.shape, data }) as HostTensor);
    },
    ["f32/every-axis"],
  ),
  fault(
    "Pad at the end of an inner axis alone is at its beginning",
    "Pad",
    given("Pad", (attributes, inputs) => {
      const rank = rankOf(inputs);
      const { pads } = attributes;
      const inner = pads.findIndex((pad) => pad > 0) - rank;
      const isOne = count(pads, (pad) => pad > 0) === 1 && inner > 0 && inner < rank - 1;
      return isOne
        ? { attributes: { ...attributes, pads: [...pads.slice(rank), ...pads.slice(0, rank)] } }
        : undefined;
    }),
    ["f32/constant-along-every-axis", "f32/edge-along-every-axis", "f32/reflect-along-every-axis"],
  ),
  fault(
    "sums over all of four axes but the third are over all but the last",
    "ReduceSum",
    (operands, attributes) => {
      const inputs = dataOf(operands);
      const [right] = evaluateNode("ReduceSum", inputs, attributes) as [HostTensor];
      if (rankOf(inputs) !== 4 || attributes.axes.join() !== "0,1,3") return [right];
      const swapped = evaluateNode("Transpose", inputs, { perm: [0, 1, 3, 2] });
      const [x] = swapped as [HostTensor];
      const [wrong] = evaluateNode(
        "ReduceSum",
        [{ ...x, shape: inputs[0]?.shape ?? [] } as HostTensor],
        attributes,
      ) as [HostTensor];
      return [wrong];
    },
    ["f32/every-set-of-axes"],
  ),
  fault(
    "running sums that exclude and reverse do one of both along inner axes",
    "CumSum",
    given("CumSum", (attributes, inputs) =>
      attributes.exclusive &&
      attributes.reverse &&
      attributes.axis > 0 &&
      attributes.axis < rankOf(inputs) - 1
        ? { attributes: { ...attributes, exclusive: false } }
        : undefined,
    ),
    ["f32/every-axis"],
  ),
  fault(
    "TopK of all elements is in the order of the axis",
    "TopK",
    (operands, attributes) => {
      const inputs = dataOf(operands);
      const [x] = inputs as [HostTensor];
      const size = x.shape[attributes.axis] ?? 0;
      const right = evaluateNode("TopK", inputs, attributes);
      if (attributes.k !== size || rankOf(inputs) < 3) return right;
      const inner = x.shape.slice(attributes.axis + 1).reduce((product, one) => product * one, 1);
      const data = Int32Array.from({ length: x.data.length }, (_, at) => Math.floor(at / inner) % size);
      return [x, { dtype: "i32", shape: x.shape, data } as HostTensor];
    },
    ["f32/every-axis"],
  ),
  fault(
    "Split in parts of one element gives the middle ones in the opposite order",
    "Split",
    (operands, attributes) => {
      const results = evaluateNode("Split", dataOf(operands), attributes);
      const isEach =
        attributes.split.length > 3 &&
        attributes.split.length < 9 &&
        attributes.split.every((part) => part === 1);
      return isEach
        ? ([results[0], ...results.slice(1, -1).toReversed(), results.at(-1)] as HostTensor[])
        : results;
    },
    ["f32/every-axis"],
  ),
  fault(
    "Expand of the second axis of four alone repeats in the order of the third",
    "Expand",
    backwards("Expand", ({ shape }, [x]) => {
      const narrow = x?.shape ?? [];
      return (
        narrow.length === 4 && narrow.every((size, axis) => (size === 1) === (axis === 1)) && shape[1] !== 1
      );
    }),
    ["f32/every-axis"],
  ),
  fault(
    "Transpose of the last two of five axes moves the elements backwards",
    "Transpose",
    backwards("Transpose", ({ perm }) => perm.join() === "0,1,2,4,3"),
    ["f32/every-axis"],
  ),
  fault(
    "Concat of three operands along an inner axis swaps the last two",
    "Concat",
    given("Concat", ({ axis }, inputs) => {
      const [first, second, third] = inputs;
      if (inputs.length !== 3 || axis === 0 || axis > rankOf(inputs) - 2) return undefined;
      return { inputs: [first, third, second] as HostTensor[] };
    }),
    ["f32/every-axis"],
  ),
  fault(
    "GatherElements along the second of five axes gives the elements backwards",
    "GatherElements",
    backwards("GatherElements", ({ axis }, inputs) => axis === 1 && rankOf(inputs) === 5),
    ["f32/every-axis"],
  ),
  fault(
    "quotients of a vector and four axes are in another order",
    "Div",
    backwards("Div", (_, [a, b]) => (a?.shape.length ?? 0) === 1 && (b?.shape.length ?? 0) === 4),
    ["f32/every-axis"],
  ),
];
