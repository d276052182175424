/** Backends that are wrong as a public report says of another library; docs/public-bugs.md lists them. */
import { type Backend, floatFormats, type HostTensor, type Op, tensor } from "@mp/graph";
import { hostData, toNumbers } from "../../src/host-data.js";
import { changing, dataOf, evaluateNode, type HostKernel, oracleWithKernels } from "./kernels.js";
import { isTensor, running } from "./wrapped.js";
import type { WrongBackend } from "./wrong-backend.js";

const mapped = (x: HostTensor, f: (x: number, at: number) => number): HostTensor =>
  hostData(x.dtype, toNumbers(x).map(f), x.shape);

const rounded = (x: HostTensor, to: "f16" | "bf16"): HostTensor =>
  evaluateNode("Cast", evaluateNode("Cast", [x], { to }), { to: x.dtype as "f32" })[0] as HostTensor;

const among = (...ops: readonly Op[]): RegExp => new RegExp(`/(${ops.join("|")})-`);

/** Rounds f32 to bf16 by adding half a unit to the bits, NaN or not. */
const byAddition: HostKernel<"Cast"> = ([x], { to }) => {
  const data = x?.data as HostTensor;
  if (data.dtype !== "f32" || to !== "bf16") return evaluateNode("Cast", [data], { to });
  const words = new Uint32Array(Float32Array.from(data.data as Float32Array).buffer);
  const bits = Uint16Array.from(words, (word) => (word + 0x7fff + ((word >>> 16) & 1)) >>> 16);
  return [tensor(bits, data.shape, "bf16")];
};

/** Joins what is causal and a mask of numbers by adding the lowest number of the operands' dtype. */
const addedMasks: HostKernel<"Attention"> = (operands, attributes) => {
  const [query, key, value, mask] = dataOf(operands) as readonly [
    HostTensor,
    HostTensor,
    HostTensor,
    HostTensor?,
  ];
  const isRow = mask?.shape.length === 2 && mask.shape[0] === query.shape[2];
  if (!attributes.isCausal || mask === undefined || mask.dtype === "bool" || !isRow)
    return evaluateNode("Attention", dataOf(operands), attributes);
  const keys = mask.shape[1] ?? 1;
  const lowest = -floatFormats[query.dtype as "f16"].maxFinite;
  const numbers = toNumbers(mask);
  const sums = hostData(
    query.dtype,
    numbers.map((x, at) => x + (at % keys > Math.floor(at / keys) ? lowest : 0)),
    mask.shape,
  );
  const [result] = evaluateNode("Attention", [query, key, value, sums], { ...attributes, isCausal: false });
  // Softmax by subtraction of infinities.
  return [
    toNumbers(sums).some((x) => x === Number.NEGATIVE_INFINITY)
      ? mapped(result as HostTensor, () => Number.NaN)
      : (result as HostTensor),
  ];
};

const kernel = (
  report: string,
  what: string,
  make: () => Promise<Backend>,
  ops: readonly Op[],
  named: readonly string[],
): WrongBackend => ({
  fault: `${report}: ${what}`,
  factory: make,
  axes: [...new Set(named.map((id) => id.slice(0, id.indexOf("/"))))],
  among: /^(public-bugs|cast|master)/.test(named[0] ?? "") ? new RegExp(named.join("|")) : among(...ops),
  named,
  consequences: [/./],
});

const halves = (id: (half: string) => string): readonly string[] => ["f16", "bf16"].map(id);
/** The sum of equal f16 or bf16 numbers stalls where one more no longer changes it. */
const STALL = { f16: 2048, bf16: 256 } as const;
const stallOf = ({ dtype }: HostTensor): number => STALL[dtype as "f16"] ?? Number.POSITIVE_INFINITY;

export const publicBugFaults: readonly WrongBackend[] = [
  kernel(
    "tilelang#2481",
    "NaN is rounded like a number",
    () => oracleWithKernels({ Cast: byAddition }),
    ["Cast"],
    ["public-bugs/tilelang-2481-bf16/a-nan-of-any-payload-stays-one"],
  ),
  kernel(
    "Automodel#2658",
    "causal and padding masks add up to -∞",
    () => oracleWithKernels({ Attention: addedMasks }),
    ["Attention"],
    ["f32", "f16", "bf16"].map(
      (dtype) => `public-bugs/automodel-2658-${dtype}/causal-and-padding-masks-do-not-add-up`,
    ),
  ),
  kernel(
    "executorch#20090, candle#3727",
    "the sum of a softmax stalls",
    () =>
      oracleWithKernels(
        changing(["Softmax"], (result, [x]) =>
          mapped(result, (y) => (x === undefined ? y : y * Math.max(1, (x.shape[0] ?? 1) / stallOf(x)))),
        ),
      ),
    ["Softmax"],
    halves((half) => `summation/Softmax-${half}/4096-equal-logits`),
  ),
  kernel(
    "CommonLoopUtils#380",
    "the sum of a mean stalls",
    () =>
      oracleWithKernels(
        changing(["ReduceMean"], (result, [x]) =>
          mapped(result, (y) => (x === undefined ? y : y * Math.min(1, stallOf(x) / (x.shape[0] ?? 1)))),
        ),
      ),
    ["ReduceMean"],
    halves((half) => `summation/ReduceMean-${half}/70-000-ones`),
  ),
  kernel(
    "onnxruntime#29034",
    "squares of a normalization overflow in float16",
    () =>
      oracleWithKernels(
        changing(["RMSNormalization"], (result, [x]) =>
          x?.dtype === "f16" && toNumbers(x).some((y) => Math.abs(y) > 256)
            ? mapped(result, () => 0)
            : result,
        ),
      ),
    ["RMSNormalization"],
    ["summation/RMSNormalization-f16/the-squares-do-not-overflow"],
  ),
  kernel(
    "pytorch#189581",
    "ε is the dtype's, not the one that was given",
    () =>
      oracleWithKernels({
        RMSNormalization: (operands, attributes) => {
          const [x, scale] = dataOf(operands) as [HostTensor, HostTensor];
          const epsilon = x.dtype === "bf16" ? 2 ** -7 : attributes.epsilon;
          return evaluateNode("RMSNormalization", [x, scale], { ...attributes, epsilon });
        },
      }),
    ["RMSNormalization"],
    ["rare/RMSNormalization-bf16/far-values"],
  ),
  kernel(
    "sglang-jax#1472, UNI-D2#6",
    "angles are rounded to bfloat16 before their cosine",
    () =>
      oracleWithKernels({
        Cos: ([x], attributes) => {
          const data = x?.data as HostTensor;
          return evaluateNode("Cos", [data.dtype === "f32" ? rounded(data, "bf16") : data], attributes);
        },
      }),
    ["Cos"],
    ["op/Cos-f32/values"],
  ),
  kernel(
    "brevitas#1591",
    "the gradient of attention to nothing is NaN",
    () =>
      oracleWithKernels(
        changing(["AttentionGradient"], (result, inputs) =>
          inputs.length < 5 ? result : mapped(result, (y) => (y === 0 ? Number.NaN : y)),
        ),
      ),
    ["AttentionGradient"],
    ["f32", "f16"].map((dtype) => `op/AttentionGradient-${dtype}/a-query-that-attends-to-nothing`),
  ),
  kernel(
    "pytorch#195701",
    "sums of batch normalization's gradient overflow in float16",
    () =>
      oracleWithKernels(
        changing(["BatchNormalizationGradient"], (result, inputs) =>
          inputs[0]?.dtype === "f16" && toNumbers(inputs[0]).reduce((sum, y) => sum + Math.abs(y), 0) > 2048
            ? mapped(result, (y) => Math.fround(Math.round(y / 2) * 2))
            : result,
        ),
      ),
    ["BatchNormalizationGradient"],
    ["summation/BatchNormalizationGradient-f16/small-terms-beside-a-large-one"],
  ),
  kernel(
    "attorch#12",
    "products in bfloat16 are rounded to float16",
    () =>
      oracleWithKernels(
        changing(["MatMul"], (result) => (result.dtype === "bf16" ? rounded(result, "f16") : result)),
      ),
    ["MatMul"],
    ["rare/MatMul-bf16/far-values"],
  ),
  kernel(
    "xla#41579, arch-com#627",
    "a product and a sum are fused",
    () =>
      running((run, { graph }) => async (inputs) => {
        const results = await run(inputs);
        const isFused = graph.nodes.map(({ op }) => op).join() === "Mul,Mul,Add";
        const [a, , x] = ["a", "b", "x"].map((name) =>
          isTensor(inputs[name]) ? toNumbers(inputs[name]) : [],
        );
        const { sum } = results;
        // The first product as it is, the second as it was rounded.
        const rest = (at: number): number => {
          const product = (a?.[at] ?? 0) * (x?.[at] ?? 0);
          return product - (toNumbers(hostData(sum?.dtype ?? "f32", [product]))[0] ?? 0);
        };
        return isFused && sum !== undefined ? { ...results, sum: mapped(sum, (_, at) => rest(at)) } : results;
      }),
    ["Add"],
    ["f32", "f16", "bf16"].map(
      (dtype) => `public-bugs/xla-41579-${dtype}/products-are-rounded-before-their-sum`,
    ),
  ),
  kernel(
    "tilelang#2483",
    "integers are cut off on their way to bfloat16",
    () =>
      oracleWithKernels({
        Cast: ([x], { to }) => {
          const data = x?.data as HostTensor;
          const [wide] = evaluateNode("Cast", [data], {
            to: data.dtype === "i32" && to === "bf16" ? "f32" : to,
          });
          if (wide === undefined || wide.dtype === to) return [wide as HostTensor];
          const words = new Uint32Array((wide.data as Float32Array).slice().buffer);
          return [
            tensor(
              Uint16Array.from(words, (word) => word >>> 16),
              data.shape,
              "bf16",
            ),
          ];
        },
      }),
    ["Cast"],
    ["cast/i32-to-bf16/rounds-large-integers-once"],
  ),
  kernel(
    "ml-by-hand#85",
    "master weights lose what bfloat16 lacks",
    () =>
      oracleWithKernels(
        changing(["Add", "Sub"], (result) => (result.dtype === "f32" ? rounded(result, "bf16") : result)),
      ),
    ["Add"],
    ["master-weights/f32/keeps-half-a-unit-of-bf16"],
  ),
];
