/** Backends that are wrong in one part of Attention. */
import { type HostTensor, isHalf, type OpAttributes, tensor } from "@mp/graph";
import { generate, hostData, toNumbers } from "../../src/host-data.js";
import { dataOf, evaluateNode, type HostKernel, oracleWithKernels } from "./kernels.js";
import type { WrongBackend } from "./wrong-backend.js";

type Attributes = OpAttributes["Attention"];
type Inputs = readonly [query: HostTensor, key: HostTensor, value: HostTensor, mask?: HostTensor];

const of = (inputs: readonly (HostTensor | undefined)[], attributes: Attributes): readonly HostTensor[] =>
  evaluateNode(
    "Attention",
    inputs.filter((input) => input !== undefined),
    attributes,
  );

/** A kernel that returns the oracle's results for wrong operands or attributes. */
const changed =
  (wrong: (inputs: Inputs, attributes: Attributes) => readonly HostTensor[]): HostKernel<"Attention"> =>
  (operands, attributes) =>
    wrong(dataOf(operands) as unknown as Inputs, attributes);

const DTYPES = ["f32", "f16", "bf16"];
const cases = (...behaviours: readonly string[]): readonly string[] =>
  DTYPES.flatMap((dtype) => behaviours.map((behaviour) => `op/Attention-${dtype}/${behaviour}`));

const fault = (
  what: string,
  kernel: HostKernel<"Attention">,
  named: readonly string[],
  consequences: readonly string[] = [],
): WrongBackend => ({
  fault: what,
  factory: () => oracleWithKernels({ Attention: kernel }),
  axes: ["op", "size"],
  among: /\/Attention[-/]/,
  named,
  consequences: consequences.map((pattern) => new RegExp(`/Attention[-/].*${pattern}`)),
});

const scoresOf = ([query, key]: Inputs): readonly [number, number] => [
  query.shape[2] ?? 0,
  key.shape[2] ?? 0,
];

/** Expands the keys or values of grouped queries in the wrong order: heads alternate instead of being repeated. */
const inTurn = (x: HostTensor, heads: number): HostTensor => {
  const own = x.shape[1] ?? 1;
  const places = tensor(
    Int32Array.from({ length: heads }, (_, head) => head % own),
    [heads],
  );
  return evaluateNode("Gather", [x, places], { axis: 1 })[0] as HostTensor;
};

/** Rounds the probabilities to the half dtype; scores too, unless they are in f32. */
const inHalf = (scoresIn?: "f32"): HostKernel<"Attention"> =>
  changed((inputs, attributes) => {
    const [query, key, value, mask] = inputs;
    const { dtype } = query;
    const { scale, isCausal, softcap } = attributes;
    const isPlain = mask === undefined && !isCausal && softcap === 0 && query.shape[1] === key.shape[1];
    if (!isHalf(dtype) || !isPlain || query.shape.includes(0) || key.shape.includes(0))
      return of(inputs, attributes);
    const within = scoresIn ?? dtype;
    const [left, right] = [query, key].map((x) => evaluateNode("Cast", [x], { to: within })[0] as HostTensor);
    const turned = evaluateNode("Transpose", [right as HostTensor], { perm: [0, 1, 3, 2] });
    const scores = evaluateNode("MatMul", [left as HostTensor, ...turned], {});
    const scaled = evaluateNode("Mul", [...scores, hostData(within, [scale], [])], {});
    const shares = evaluateNode("Softmax", scaled, { axis: 3 });
    return evaluateNode("MatMul", [...evaluateNode("Cast", shares, { to: dtype }), value], {});
  });

/** Rounds a mask of numbers to the dtype of the queries. */
const roundedMask: HostKernel<"Attention"> = changed(([query, key, value, mask], attributes) =>
  of(
    mask?.dtype === "f32"
      ? [query, key, value, ...evaluateNode("Cast", [mask], { to: query.dtype })]
      : [query, key, value, mask],
    attributes,
  ),
);

const inHalves = (behaviour: string): readonly string[] =>
  cases(behaviour).filter((id) => !id.includes("-f32"));

export const attentionFaults: readonly WrongBackend[] = [
  fault(
    "attention divides its scores by the root of the size, whatever the scale",
    changed((inputs, attributes) =>
      of(inputs, { ...attributes, scale: 1 / Math.sqrt(inputs[0].shape[3] || 1) }),
    ),
    cases("the-scale"),
    ["."],
  ),
  fault(
    "the last query of causal attention attends to the last key",
    changed((inputs, attributes) => {
      const [time, keys] = scoresOf(inputs);
      if (!attributes.isCausal || inputs[3] !== undefined || time === keys) return of(inputs, attributes);
      const past = generate("bool", [time, keys], (at) =>
        at % keys <= Math.floor(at / keys) + keys - time ? 1 : 0,
      );
      return of([...inputs, past], { ...attributes, isCausal: false });
    }),
    cases("causal"),
    ["beyond"],
  ),
  fault(
    "causal attention ignores its mask",
    changed((inputs, attributes) => of(attributes.isCausal ? inputs.slice(0, 3) : inputs, attributes)),
    cases("masks", "added-masks", "a-query-that-attends-to-nothing"),
    ["beyond"],
  ),
  fault(
    "true in a mask of attention hides a key",
    changed((inputs, attributes) => {
      const [query, key, value, mask] = inputs;
      return mask?.dtype === "bool"
        ? of([query, key, value, ...evaluateNode("Not", [mask], {})], attributes)
        : of(inputs, attributes);
    }),
    cases("masks"),
    ["the-softcap", "nothing$", "beyond"],
  ),
  fault(
    "attention ignores a mask of numbers",
    changed((inputs, attributes) =>
      of(inputs[3]?.dtype === "bool" ? inputs : inputs.slice(0, 3), attributes),
    ),
    cases("added-masks"),
    ["the-softcap", "nothing$"],
  ),
  fault(
    "grouped queries take their keys in turn",
    changed(([query, key, value, mask], attributes) => {
      const heads = query.shape[1] ?? 0;
      return of([query, inTurn(key, heads), inTurn(value, heads), mask], attributes);
    }),
    cases("values"),
    ["."],
  ),
  fault(
    "attention has no softcap",
    changed((inputs, attributes) => of(inputs, { ...attributes, softcap: 0 })),
    cases("the-softcap"),
  ),
  fault(
    "attention to nothing is NaN",
    changed((inputs, attributes) => {
      const [result] = of(inputs, attributes) as [HostTensor];
      if (inputs[3] === undefined) return [result];
      const numbers = toNumbers(result).map((x) => (x === 0 ? Number.NaN : x));
      return [hostData(result.dtype, numbers, result.shape)];
    }),
    cases("a-query-that-attends-to-nothing"),
    ["no-elements"],
  ),
  fault("attention computes its softmax in the half", inHalf(), inHalves("scores-are-not-rounded"), ["."]),
  fault(
    "attention rounds its shares to the half",
    inHalf("f32"),
    inHalves("shares-and-masks-are-not-rounded"),
    ["."],
  ),
  fault("attention rounds its mask to the half", roundedMask, inHalves("shares-and-masks-are-not-rounded"), [
    ".",
  ]),
  {
    fault: "the gradient of attention has no softcap",
    factory: () =>
      oracleWithKernels({
        AttentionGradient: (operands, attributes) =>
          evaluateNode("AttentionGradient", dataOf(operands), { ...attributes, softcap: 0 }),
      }),
    axes: ["op"],
    among: /\/AttentionGradient-/,
    named: ["f32", "f16"].map((dtype) => `op/AttentionGradient-${dtype}/the-softcap`),
    consequences: [],
  },
];
