/** Loops that read from, carry to, or put things in the wrong place. */
import { type Graph, type HostTensor, type Op, producers, zeros } from "@mp/graph";
import { evaluate } from "@mp/graph/reference";
import { dataOf, type HostKernel, oracleWithKernels } from "./kernels.js";
import type { WrongBackend } from "./wrong-backend.js";

interface LoopParts {
  /** The position from which a step reads its elements. Default: its own. */
  readonly reads?: (place: number, length: number) => number;
  /** The position at which a step puts its results. Default: its own. */
  readonly puts?: (place: number, length: number, reverse: boolean) => number;
  /** The carries of the next step. Default: those that the step returned. */
  readonly carries?: (
    returned: readonly HostTensor[],
    before: readonly HostTensor[],
    start: readonly HostTensor[],
  ) => readonly HostTensor[];
  /** The final carries. Default: those that the last step returned. */
  readonly last?: (returned: readonly HostTensor[], before: readonly HostTensor[]) => readonly HostTensor[];
  readonly isReverse?: (reverse: boolean) => boolean;
  /** The body that is run. Default: the graph's own. */
  readonly body?: (body: Graph) => Graph;
  readonly invariants?: (invariants: readonly HostTensor[], step: number) => readonly HostTensor[];
}

const rowOf = ({ dtype, shape, data }: HostTensor, place: number): HostTensor => {
  const size = data.length / (shape[0] ?? 1);
  return { dtype, shape: shape.slice(1), data: data.slice(place * size, (place + 1) * size) } as HostTensor;
};

function stackedFrom(rows: readonly HostTensor[]): HostTensor {
  const [first] = rows as [HostTensor];
  const size = first.data.length;
  const data = new (first.data.constructor as new (length: number) => HostTensor["data"])(size * rows.length);
  rows.forEach((row, place) => {
    (data as Uint8Array).set(row.data as Uint8Array, place * size);
  });
  return { dtype: first.dtype, shape: [rows.length, ...first.shape], data } as HostTensor;
}

/** Runs a loop as it is defined, except for the given parts. */
const loopWith =
  (parts: LoopParts): HostKernel<"Scan"> =>
  (operands, { body, carries, sequences, length, reverse }) => {
    const inputs = dataOf(operands);
    const start = inputs.slice(0, carries);
    const placed: HostTensor[][] = [];
    let [carry, before] = [start, start];
    const { isReverse = (given) => given, reads = (place) => place, puts = (place) => place } = parts;
    for (let step = 0; step < length; step++) {
      const place = isReverse(reverse) ? length - 1 - step : step;
      const elements = inputs
        .slice(carries, carries + sequences)
        .map((sequence) => rowOf(sequence, reads(place, length)));
      const own = inputs.slice(carries + sequences);
      const given = [...carry, ...elements, ...(parts.invariants?.(own, step) ?? own)];
      const results = evaluate(
        parts.body?.(body) ?? body,
        Object.fromEntries(body.inputs.map(({ name }, index) => [name, given[index] as HostTensor])),
      );
      const returned = body.outputs.map(({ name }) => results[name] as HostTensor);
      placed[puts(place, length, reverse)] = returned.slice(carries);
      before = carry;
      carry = [...(parts.carries?.(returned.slice(0, carries), carry, start) ?? returned.slice(0, carries))];
    }
    const stacks = body.outputs
      .slice(carries)
      .map((_, index) => stackedFrom(placed.map((results) => results[index] as HostTensor)));
    return [...(parts.last?.(carry, before) ?? carry), ...stacks];
  };

const fault = (name: string, parts: LoopParts, named: readonly string[]): WrongBackend => ({
  fault: `in loops, ${name}`,
  factory: () => oracleWithKernels({ Scan: loopWith(parts) }),
  axes: ["loop", "op", "size"],
  among: /^loop\/|\/Scan/,
  named,
  consequences: [/^loop\//, /\/Scan/],
});

const next = (place: number, length: number): number => (place + 1) % length;

const OTHERS: Readonly<Partial<Record<Op, Op>>> = { Round: "Floor", LessOrEqual: "Less", Xor: "Or" };

/** A body with another operator in place of `op`. */
const exchanged =
  (op: Op, dtype: string) =>
  (body: Graph): Graph => ({
    ...body,
    nodes: body.nodes.map((node) =>
      node.op === op && node.inputs[0]?.dtype === dtype ? ({ ...node, op: OTHERS[op] } as typeof node) : node,
    ),
  });

/** A body in which a >= b is not (a < b), which differs for NaN. */
const negated = (body: Graph): Graph => ({
  ...body,
  nodes: body.nodes.flatMap((node, at) => {
    const [result] = node.outputs;
    if (node.op !== "GreaterOrEqual" || result === undefined) return [node];
    const less = { ...result, id: -1 - at };
    return [
      { ...node, name: `${node.name}.less`, op: "Less", outputs: [less] } as unknown as typeof node,
      { ...node, op: "Not", inputs: [less] } as unknown as typeof node,
    ];
  }),
});

/** A body in which an f32 that is cast to f16 and back is what it was. */
const withoutRounding = (body: Graph): Graph => {
  const made = producers(body);
  return {
    ...body,
    nodes: body.nodes.map((node) => {
      const before = node.inputs[0] && made.get(node.inputs[0]);
      const isBack = node.op === "Cast" && node.outputs[0]?.dtype === "f32" && before?.op === "Cast";
      return isBack && before.outputs[0]?.dtype === "f16" && before.inputs[0]?.dtype === "f32"
        ? ({ ...node, op: "Identity", inputs: before.inputs, attributes: {} } as unknown as typeof node)
        : node;
    }),
  };
};

export const loopFaults: readonly WrongBackend[] = [
  {
    ...fault("a cast to f16 and back is dropped", { body: withoutRounding }, [
      "rewrite/casts-f32/of-inputs-of-a-loop",
    ]),
    axes: ["rewrite"],
    among: /of-inputs-of-a-loop$/,
    consequences: [/of-inputs-of-a-loop$/],
  },
  fault("a >= b is not (a < b)", { body: negated }, [
    "loop/bodies-f32/of-every-operator",
    "loop/bodies-bf16/of-every-operator",
  ]),
  fault("each step reads the next step's element", { reads: next }, [
    "loop/recurrence-f32/forwards",
    "loop/recurrence-bf16/backwards",
    "op/Scan-i32/values",
    "op/Scan-bool/no-carries",
    "loop/mixed/six-dtypes-forwards",
  ]),
  fault("results are a place off", { puts: next }, [
    "loop/recurrence-f16/forwards",
    "loop/nested-f32/reads-from-around-both",
    "op/Scan-u64/no-sequences",
    "op/Scan-f8e4m3/values",
    "size/Scan/beyond-65-536-elements",
  ]),
  fault("the direction does not matter", { isReverse: () => false }, [
    "loop/recurrence-f32/backwards",
    "loop/there-and-back-f32/shares-what-both-read",
    "loop/mixed/six-dtypes-backwards",
    "op/Scan-f32/values",
    "op/Scan-i64/no-sequences",
    "op/Scan-u8/passed-through",
  ]),
  fault(
    "results of a loop in reverse are in the order of the steps",
    { puts: (place, length, reverse) => (reverse ? length - 1 - place : place) },
    [
      "loop/recurrence-f32/backwards",
      "loop/there-and-back-bf16/shares-what-both-read",
      "op/Scan-f32/no-sequences",
      "op/Scan-f32/no-carries",
      "op/Scan-f8e5m2/values",
    ],
  ),
  fault("every step starts from the first carries", { carries: (_, __, start) => start }, [
    "loop/recurrence-f32/forwards",
    "loop/long-i32/sums-2000-steps",
    "loop/random/draws-in-each-step",
    "op/Scan-f16/values",
    "op/Scan-f16/no-results",
  ]),
  fault("the last carries are those before the last step", { last: (_, before) => before }, [
    "loop/recurrence-f32/forwards",
    "loop/long-u64/sums-2000-steps",
    "op/Scan-bf16/one-step",
    "op/Scan-i32/no-results",
  ]),
  fault(
    "what is read from outside is 0 after the first step",
    {
      invariants: (own, step) => (step === 0 ? own : own.map(({ shape, dtype }) => zeros(shape, dtype))),
    },
    [
      "loop/recurrence-f32/forwards",
      "loop/there-and-back-f16/shares-what-both-read",
      "loop/nested-bf16/reads-from-around-both",
      "loop/bodies-f32/of-every-operator",
      "op/Scan-f32/passed-through",
      "op/Scan-bool/no-carries",
    ],
  ),
  ...(["f32 Round", "i64 LessOrEqual", "bool Xor"] as const).map((each) => {
    const [dtype = "", op = ""] = each.split(" ");
    return fault(`${op} of ${dtype} is another operator`, { body: exchanged(op as Op, dtype) }, [
      `loop/bodies-${dtype}/of-every-operator`,
    ]);
  }),
];
