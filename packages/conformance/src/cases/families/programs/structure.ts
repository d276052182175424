/** Programs that differ in one operator, operand, type, name, or in the order of inputs or outputs. */
import {
  type DType,
  type Graph,
  GraphBuilder,
  type HostTensor,
  type Op,
  type Shape,
  type Value,
} from "@mp/graph";
import type { ConformanceCase } from "../../../conformance-case.js";
import { generate } from "../../../host-data.js";
import { randomBits } from "../../../random-bits-of.js";
import type { RandomSource } from "../../../random-source.js";
import { at, buildGraph, valueType } from "../../../small-graphs.js";
import type { Tensors } from "../../kinds/graph-case.js";
import { type Family, familyCase, type Program } from "./expect-apart.js";

type Arithmetic = "Add" | "Sub" | "Max" | "Min";

interface Step {
  readonly op: Arithmetic;
  readonly isSwapped: boolean;
}

const whole = (random: RandomSource, shape: Shape): HostTensor =>
  generate("f32", shape, () => random.integer(-50, 50));

const drawPair = (random: RandomSource): Tensors => ({ x: whole(random, [7]), y: whole(random, [7]) });

/** A chain of nodes; each reads the result before it and y. */
const chain = (steps: readonly Step[]): Graph =>
  buildGraph({
    inputs: { x: valueType("f32", 7), y: valueType("f32", 7) },
    outputs: (builder, inputs) => {
      const [x, y] = [at(inputs, "x"), at(inputs, "y")];
      return {
        y: steps.reduce(
          (last, { op, isSwapped }) => builder.emitOne(op, isSwapped ? [y, last] : [last, y], {}),
          x,
        ),
      };
    },
  });

/** Positions in a list; a cache key that covers only the beginning, the end or a part of the list misses some. */
const placesIn = (length: number): readonly number[] => [0, 1, 7, 8, 16, 32, length - 2, length - 1];

const LONG = 40;

const operators: Family = ({ random }) => {
  const steps = Array.from({ length: LONG }, (): Step => ({ op: "Sub", isSwapped: true }));
  const inputs = { x: whole(random, [7]), y: generate("f32", [7], () => random.integer(1, 50)) };
  const changes: readonly (readonly [string, Step])[] = [
    ["a sum", { op: "Add", isSwapped: true }],
    ["its operands exchanged", { op: "Sub", isSwapped: false }],
  ];
  return [
    { what: `${LONG} differences`, graph: chain(steps), inputs },
    ...changes.flatMap(([what, step]) =>
      placesIn(LONG).map((place) => ({
        what: `${LONG} differences, of which number ${place} is ${what === "a sum" ? what : `with ${what}`}`,
        graph: chain(steps.with(place, step)),
        inputs,
      })),
    ),
  ];
};

/** Programs with one node, on each pair of the operands. */
const operands: Family = ({ random }) => {
  const inputs = drawPair(random);
  return (["Add", "Sub", "Max", "Min"] as const).flatMap((op) =>
    ["xy", "yx", "xx", "yy"].map((pair) => ({
      what: `${op} of ${[...pair].join(" and ")}`,
      graph: buildGraph({
        inputs: { x: valueType("f32", 7), y: valueType("f32", 7) },
        outputs: (builder, values) => ({
          y: builder.emitOne(
            op,
            [...pair].map((name) => at(values, name)),
            {},
          ),
        }),
      }),
      inputs,
    })),
  );
};

const TYPES: readonly (readonly [DType, Shape])[] = [
  ...(["f32", "i32", "f16", "bf16", "i64", "u64", "u8", "bool"] as const).map(
    (dtype) => [dtype, [12]] as const,
  ),
  ...[[1, 12], [12, 1], [11, 2], [2, 6], [6, 2], [3, 4], [4, 3], [2, 2, 3], [13], [], [0]].map(
    (shape) => ["f32", shape] as const,
  ),
];

/** One node on an operand of the given type. */
const twice = (dtype: DType, shape: Shape): Graph =>
  buildGraph({
    inputs: { x: valueType(dtype, ...shape) },
    outputs: (builder, inputs) => ({
      y: builder.emitOne("Unsqueeze", [at(inputs, "x")], { axes: [0] }),
    }),
  });

const types: Family = ({ random }) =>
  TYPES.map(([dtype, shape]) => ({
    what: `x of ${dtype}[${shape}]`,
    graph: twice(dtype, shape),
    inputs: { x: randomBits({ random, dtype }, shape) },
  }));

interface Named {
  readonly what: string;
  /** Names of the inputs in the order of declaration; the first is the minuend. */
  readonly inputs: readonly [string, string];
  readonly isDeclaredLast?: boolean;
  /** Names of the difference and of the sum. */
  readonly outputs: readonly [string, string];
  readonly isSumFirst?: boolean;
}

const NAMES: readonly Named[] = [
  { what: "inputs a, b and outputs p, q", inputs: ["a", "b"], outputs: ["p", "q"] },
  { what: "its inputs' names exchanged", inputs: ["b", "a"], outputs: ["p", "q"] },
  {
    what: "its inputs declared the other way around",
    inputs: ["a", "b"],
    outputs: ["p", "q"],
    isDeclaredLast: true,
  },
  { what: "its outputs' names exchanged", inputs: ["a", "b"], outputs: ["q", "p"] },
  { what: "its outputs the other way around", inputs: ["a", "b"], outputs: ["p", "q"], isSumFirst: true },
  { what: "another name of an input", inputs: ["a", "c"], outputs: ["p", "q"] },
  { what: "another name of an output", inputs: ["a", "b"], outputs: ["p", "r"] },
  { what: "upper case in an input", inputs: ["A", "b"], outputs: ["p", "q"] },
  { what: "outputs that have the inputs' names", inputs: ["a", "b"], outputs: ["a", "b"] },
  { what: "outputs that have the inputs' names exchanged", inputs: ["a", "b"], outputs: ["b", "a"] },
];

function graphWithNames({
  inputs: [a, b],
  isDeclaredLast = false,
  outputs: [p, q],
  isSumFirst = false,
}: Named): Graph {
  const builder = new GraphBuilder();
  const order = isDeclaredLast ? [b, a] : [a, b];
  const values = new Map(
    order.map((name): [string, Value] => [name, builder.input(name, valueType("f32", 7), "batch")]),
  );
  const pair = [values.get(a) as Value, values.get(b) as Value];
  const results: [string, Value][] = [
    [p, builder.emitOne("Sub", pair, {})],
    [q, builder.emitOne("Add", pair, {})],
  ];
  if (isSumFirst) results.reverse();
  return builder.finish(new Map([...results, ["negative", builder.emitOne("Neg", pair.slice(0, 1), {})]]));
}

const names: Family = ({ random }) =>
  NAMES.map((named) => ({
    what: named.what,
    graph: graphWithNames(named),
    inputs: Object.fromEntries(named.inputs.map((name) => [name, whole(random, [7])])),
  }));

/** A loop that combines each element with a carry by `op` and adds the constant `added`. */
function loopGraph(op: Arithmetic, added: number, isStacked: boolean): Graph {
  const inner = new GraphBuilder();
  const type = valueType("f32", 3);
  const [carry, element] = [inner.input("c", type, "capture"), inner.input("e", type, "capture")];
  const next = inner.emitOne(op, [carry, element], {});
  const more = inner.emitOne("Add", [next, inner.literal(added, "f32")], {});
  const body = inner.finish(
    new Map([
      ["next", more],
      ["stacked", isStacked ? next : carry],
    ]),
  );
  const builder = new GraphBuilder();
  const operands = [builder.input("x", type, "batch"), builder.input("y", valueType("f32", 5, 3), "batch")];
  const attributes = { body, carries: 1, sequences: 1, length: 5, reverse: false, saved: 0 };
  const results = builder.emit("Scan", operands, attributes);
  return builder.finish(new Map(results.map((value, place) => [`y${place}`, value])));
}

const bodies: Family = ({ random }) => {
  const inputs = { x: whole(random, [3]), y: generate("f32", [5, 3], () => random.integer(1, 9)) };
  const variants: readonly (readonly [Arithmetic, number, boolean])[] = [
    ["Add", 1, true], ["Add", 2, true], ["Add", -1, true], ["Add", 1, false], ["Sub", 1, true], ["Max", 1, true],
  ]; // biome-ignore format: one line
  return variants.map(
    ([op, added, isStacked]): Program => ({
      what: `a loop of ${op} and ${added}, which stacks ${isStacked ? "results" : "carries"}`,
      graph: loopGraph(op, added, isStacked),
      inputs,
    }),
  );
};

const single = (op: Op): Graph =>
  buildGraph({
    inputs: { x: valueType("f32", 7) },
    outputs: (builder, inputs) => ({
      y: builder.emitOne(op as "Add", [at(inputs, "x"), at(inputs, "x")], {}),
    }),
  });

export const structureCases: readonly ConformanceCase[] = [
  familyCase("program/operator/one-of-many-differs", () => [single("Sub"), single("Add")], operators),
  familyCase(
    "program/operand/order-and-choice",
    () => (["Add", "Sub", "Max", "Min"] as const).map(single),
    operands,
  ),
  familyCase("program/type/of-an-input", () => TYPES.map(([dtype, shape]) => twice(dtype, shape)), types),
  familyCase("program/name/of-inputs-and-outputs", () => NAMES.map((named) => graphWithNames(named)), names),
  familyCase("program/loop/of-another-body", () => [loopGraph("Add", 1, true)], bodies),
];
