/** Backends that are wrong in one dtype, rank or order of axes alone, or where the last step of an operator is apart. */
import { floatFormats, type HostTensor, isHalf, type Op, roundTo, type Shape } from "@mp/graph";
import { reference } from "@mp/graph/reference";
import { delegate } from "../../src/delegate.js";
import { generate, hostData, toNumbers } from "../../src/host-data.js";
import { afterwards, dataOf, evaluateNode, type HostKernel, oracleWithKernels } from "./kernels.js";
import type { WrongBackend } from "./wrong-backend.js";

const mapped = (given: HostTensor, f: (x: number, at: number) => number): HostTensor =>
  hostData(given.dtype, toNumbers(given).map(f), given.shape);

type Inputs = readonly HostTensor[];

/** A kernel that is wrong where `holds` says so. */
const where =
  <K extends Op>(
    op: K,
    holds: (inputs: Inputs, attributes: Parameters<HostKernel<K>>[1]) => boolean,
    wrong: (inputs: Inputs, attributes: Parameters<HostKernel<K>>[1]) => readonly HostTensor[],
  ): HostKernel<K> =>
  (operands, attributes) => {
    const inputs = dataOf(operands);
    return holds(inputs, attributes) ? wrong(inputs, attributes) : evaluateNode(op, inputs, attributes);
  };

const backend = (kernels: Readonly<Record<string, unknown>>) => oracleWithKernels(kernels as never);
const only = (...ids: readonly string[]): Pick<WrongBackend, "axes" | "among" | "named"> => ({
  axes: [...new Set(ids.map((id) => id.slice(0, id.indexOf("/"))))],
  among: new RegExp(ids.join("|")),
  named: ids,
});

/** Adds the last operand to a result that is rounded already. */
const addedLater = <K extends "Conv" | "ConvTranspose" | "Gemm">(op: K, dtype: "f16" | "bf16") =>
  where(
    op,
    (inputs, attributes) =>
      inputs.length === 3 && inputs[0]?.dtype === dtype && (!("transB" in attributes) || attributes.transB),
    ([a, b, c], attributes) => {
      const [product] = evaluateNode(op, [a, b] as Inputs, attributes) as [HostTensor];
      const shape: Shape = op === "Gemm" ? (c?.shape ?? []) : [-1, ...product.shape.slice(2).map(() => 1)];
      const sized = shape.map((size) => (size < 0 ? (c?.data.length ?? 1) : size));
      return evaluateNode("Add", [product, { ...c, shape: sized } as HostTensor], {});
    },
  );

const isLone = (x: HostTensor | undefined, axis: number | undefined): boolean =>
  axis === 1 && x?.dtype === "f16" && x.shape.length === 3 && x.shape[1] === 1;

export const halfFormFaults: readonly WrongBackend[] = [
  ...(["Conv", "ConvTranspose", "Gemm"] as const).flatMap((op) =>
    (op === "Gemm" ? (["f16", "bf16"] as const) : (["f16"] as const)).map(
      (dtype): WrongBackend => ({
        fault: `${op} in ${dtype} adds a bias to a rounded sum`,
        factory: () => backend({ [op]: addedLater(op, dtype) }),
        ...only(`rare/${op}-${dtype}/far-values`),
      }),
    ),
  ),
  {
    fault: "products in bf16 are rounded down at the end of the range",
    factory: () =>
      backend({
        Mul: where(
          "Mul",
          ([x, y]) => x?.dtype === "bf16" && x.shape.length === 1 && y?.shape[0] === x.shape[0],
          ([x, y]) => {
            const [z] = evaluateNode("Mul", [x, y] as Inputs, {}) as [HostTensor];
            const [a, b] = [toNumbers(x as HostTensor), toNumbers(y as HostTensor)];
            const exact = (at: number) => (a[at] as number) * (b[at] as number);
            const { maxFinite } = floatFormats.bf16;
            return [
              mapped(z, (w, at) =>
                Math.abs(exact(at)) < 2 ** 128 && !Number.isFinite(w) ? Math.sign(w) * maxFinite : w,
              ),
            ];
          },
        ),
      }),
    ...only("op/Mul-bf16/values"),
  },
  {
    fault: "a softmax over a middle axis of one element is 1 in f16",
    factory: () =>
      backend({
        Softmax: where(
          "Softmax",
          ([x], { axis }) => isLone(x, axis),
          ([x]) => [mapped(x as HostTensor, () => 1)],
        ),
      }),
    ...only("reduce/Softmax-f16/nan-at-every-position"),
  },
  {
    fault: "a minimum over a middle axis of one element starts at infinity in f16",
    factory: () =>
      backend({
        ReduceMin: where(
          "ReduceMin",
          ([x], { axes }) => isLone(x, axes[0]),
          ([x], attributes) =>
            evaluateNode(
              "ReduceMin",
              [mapped(x as HostTensor, (y) => (Number.isNaN(y) ? Number.POSITIVE_INFINITY : y))],
              attributes,
            ),
        ),
      }),
    ...only("reduce/ReduceMin-f16/nan-at-every-position"),
  },
  {
    fault: "an exclusive sum is the inclusive one less the element",
    factory: () =>
      backend({
        CumSum: where(
          "CumSum",
          ([x], { exclusive }) => exclusive && isHalf((x as HostTensor).dtype),
          (inputs, attributes) => {
            const [sums] = evaluateNode("CumSum", inputs, { ...attributes, exclusive: false }) as [
              HostTensor,
            ];
            const own = toNumbers(inputs[0] as HostTensor);
            return [mapped(sums, (y, at) => y - (own[at] as number))];
          },
        ),
      }),
    ...only("rare/CumSum-f16/far-values", "rare/CumSum-bf16/far-values"),
  },
  {
    fault: "a slice of six axes in bf16 reads the third one forwards",
    factory: () =>
      backend({
        Slice: where(
          "Slice",
          ([x], { axes, steps }) =>
            x?.dtype === "bf16" &&
            x.shape.length === 6 &&
            axes.some((axis, at) => axis === 2 && (steps[at] ?? 1) < 0),
          (inputs, attributes) => {
            const [y] = evaluateNode("Slice", inputs, attributes) as [HostTensor];
            const size = y.shape[2] ?? 1;
            return evaluateNode("Slice", [y], { axes: [2], starts: [size - 1], ends: [-1], steps: [-1] });
          },
        ),
      }),
    ...only("form/Slice/in-other-dtypes"),
  },
  {
    fault: "images in bf16 are put together by the inverse permutation",
    factory: () =>
      backend({
        Transpose: where(
          "Transpose",
          ([x], { perm }) => x?.dtype === "bf16" && perm.length > 4 && perm[0] === 0,
          (inputs, attributes) => {
            const { perm } = attributes;
            const [y] = evaluateNode("Transpose", inputs, attributes) as [HostTensor];
            const inverse = perm.map((_, at) => perm.indexOf(at));
            const [wrong] = evaluateNode("Transpose", inputs, { perm: inverse }) as [HostTensor];
            return [{ ...wrong, shape: y.shape }];
          },
        ),
      }),
    ...only("op/Transpose-bf16/values"),
  },
  {
    fault: "an index outside its axis is moved inside",
    factory: () =>
      backend({
        GatherND: where(
          "GatherND",
          () => true,
          ([x, indices], attributes) => {
            const [width, sizes] = [indices?.shape.at(-1) ?? 1, x?.shape.slice(attributes.batchDims) ?? []];
            const limit = (at: number) => sizes[at % width] ?? 1;
            const inside = (y: number, at: number) => Math.max(-limit(at), Math.min(limit(at) - 1, y));
            return evaluateNode("GatherND", [x, mapped(indices as HostTensor, inside)] as Inputs, attributes);
          },
        ),
      }),
    ...only("op/GatherND-f32/indices-outside-fail"),
  },
  {
    fault: "a label outside the classes counts as ignored",
    factory: () =>
      backend({
        NegativeLogLikelihoodLoss: where(
          "NegativeLogLikelihoodLoss",
          (_, { ignoreIndex }) => ignoreIndex === undefined,
          (inputs, attributes) =>
            evaluateNode("NegativeLogLikelihoodLoss", inputs, {
              ...attributes,
              ignoreIndex: inputs[0]?.shape[1] ?? 0,
            }),
        ),
      }),
    ...only("op/NegativeLogLikelihoodLoss-f32/indices-outside-fail"),
  },
  {
    fault: "a scatter keeps the last of the updates above the data",
    factory: () =>
      backend({
        ScatterElements: where(
          "ScatterElements",
          ([x], { reduction }) => reduction === "max" && x?.shape.length === 1 && x.dtype === "i32",
          ([x, indices, updates]) => {
            const y = toNumbers(x as HostTensor).slice();
            const [data, size] = [toNumbers(x as HostTensor), y.length];
            toNumbers(indices as HostTensor).forEach((index, at) => {
              const place = index < 0 ? index + size : index;
              const update = toNumbers(updates as HostTensor)[at] as number;
              if (update > (data[place] as number)) y[place] = update;
            });
            return [hostData("i32", y)];
          },
        ),
      }),
    ...only("op/ScatterElements-i32/repeated-indices-combine"),
  },
  {
    fault: "a range of u64 keeps 32 bits",
    factory: () =>
      backend({
        Range: afterwards("Range", (y) => (y.dtype === "u64" ? mapped(y, (x) => x % 2 ** 32) : y)),
      }),
    ...only("rare/Range-u64/long-steps"),
  },
  {
    fault: "losses are added in f16",
    factory: () =>
      backend({
        SoftmaxCrossEntropyLoss: where(
          "SoftmaxCrossEntropyLoss",
          ([x], { reduction }) => x?.dtype === "f16" && reduction === "sum",
          (inputs, attributes) => {
            const [, ...rest] = evaluateNode("SoftmaxCrossEntropyLoss", inputs, attributes);
            const each = { ...attributes, reduction: "none" as const };
            const [losses] = evaluateNode("SoftmaxCrossEntropyLoss", inputs, each) as [HostTensor];
            const sum = toNumbers(losses).reduce((total, loss) => roundTo("f16", total + loss), 0);
            return [hostData("f16", [sum], []), ...rest];
          },
        ),
      }),
    ...only("summation/SoftmaxCrossEntropyLoss-f16/5000-terms-of-labels"),
  },
  {
    fault: "the last block wins where the largest elements are equal in f16",
    factory: () =>
      backend({
        ArgMax: where(
          "ArgMax",
          ([x], { axis }) => x?.dtype === "f16" && axis === 0 && (x.shape[0] ?? 0) > 256,
          ([x], attributes) => {
            const [first] = evaluateNode("ArgMax", [x] as Inputs, attributes) as [HostTensor];
            const [numbers, width] = [toNumbers(x as HostTensor), first.data.length];
            const rows = x?.shape[0] ?? 0;
            const last = (index: number, column: number): number => {
              for (let row = rows - 1; row > index; row--)
                if (numbers[row * width + column] === numbers[index * width + column]) return row;
              return index;
            };
            return [generate("i32", first.shape, (at) => last(Number(first.data[at]), at))];
          },
        ),
      }),
    ...only("size/ArgMax-f16/beyond-65-536-elements"),
  },
  {
    fault: "an operator that the manifest lacks is compiled in the body of a loop",
    factory: async () => {
      const right = await reference();
      const strict = await oracleWithKernels({}, {}, ["Erf"]);
      return delegate(right, {
        manifest: { ...right.manifest, ops: strict.manifest.ops },
        compile: (graph, options) =>
          (graph.nodes.some(({ op }) => op === "Erf") ? strict : right).compile(graph, options),
      });
    },
    ...only("op/Erf-f32/values"),
    consequences: [/^op\/Erf/],
  },
];
