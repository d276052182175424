/**
 * One case for each table of patterns, dtype and place of the operands. Its graphs have each pattern once with only its
 * result as an output and, in one of the places, once more with its inner values as outputs.
 */
import {
  type BackendManifest,
  type DType,
  elementCount,
  formatType,
  GraphBuilder,
  type HostTensor,
  isFloat,
  type Op,
  opDTypes,
  rowsOf,
  type Shape,
  type Value,
} from "@mp/graph";
import { type Allowance, EXACT, manifestAllowance } from "../../compare/allowance.js";
import type { ConformanceCase } from "../../conformance-case.js";
import { generate, hostData } from "../../host-data.js";
import { type RandomSource, randomSource } from "../../random-source.js";
import { type Fit, type GraphCheck, looped, partialCase } from "../kinds/graph-case.js";
import { edgeNumbers } from "./edge-numbers.js";
import type { Draw, Kit, Pattern, PatternTable } from "./pattern.js";

/** Sources of operands. With constants, each second pattern has an input first. */
type Feed = "inputs" | "slots" | "constants" | "inner-values";

/** The places with graphs of their own, in f32. An engine's compiler sees slots as inputs, so they share those graphs. */
const PLACES: readonly (readonly [called: string, places: readonly Feed[], isLoop?: true])[] = [
  ["inputs", ["inputs", "slots"]],
  ["constants", ["constants"]],
  ["inner-values", ["inner-values"]],
  ["inputs-of-a-loop", ["inputs"], true],
];
/** The places in the one graph of other dtypes. Constants are frequent, because engines fold and rewrite around them. */
const GATHERED: typeof PLACES = [
  ["any-place", ["constants", "inputs", "constants", "slots", "constants", "inner-values"]],
];

/** Number of pairs of the 16 edge numbers; further elements of an operand are in random order. */
const PAIRS = 256;
const SHAPES: readonly Shape[] = [[320], [16, 20], [4, 4, 20], [2, 4, 4, 10]];

const NUMBER_FORMS = ["scalar", "row", "whole", "one", "fed"] as const;
type NumberForm = (typeof NUMBER_FORMS)[number];

const OPS = Object.keys(opDTypes) as Op[];

interface Writing {
  readonly builder: GraphBuilder;
  readonly inputs: Record<string, HostTensor>;
  readonly slots: Record<string, HostTensor>;
}

interface Instance extends Writing {
  readonly name: string;
  readonly dtype: DType;
  readonly place: Feed;
  readonly form: NumberForm;
  readonly shape: Shape;
  readonly random: RandomSource;
  readonly flushes: Fit["flushes"];
  /** Whether the pattern's inner values are outputs, too. */
  readonly keepsInner: boolean;
  /** The values and operators that the pattern emitted, in order. */
  readonly emitted: { readonly value: Value; readonly op: Op }[];
  /** Number of operands until now, for their names. */
  operands: number;
}

function placeOperand(instance: Instance, tensor: HostTensor): Value {
  const { builder, inputs, slots, place, name } = instance;
  const { dtype, shape, data } = tensor;
  const count = instance.operands++;
  const called = `${name}.${count}`;
  const isFed = count === 0 && instance.keepsInner;
  if (place === "constants" && !isFed) return builder.constant(tensor);
  if (place === "slots") {
    slots[called] = tensor;
    return builder.input(called, { dtype, shape }, "state");
  }
  const [rows = 1, ...rest] = shape;
  if (place !== "inner-values" || rows < 2) {
    inputs[called] = tensor;
    return builder.input(called, { dtype, shape }, "batch");
  }
  const cut = Math.floor(rows / 2) * elementCount(rest, "test data");
  const half = (part: string, from: number, to: number, size: number): Value => {
    const halved = { dtype, shape: [size, ...rest], data: data.slice(from, to) } as HostTensor;
    inputs[`${called}${part}`] = halved;
    return builder.input(`${called}${part}`, { dtype, shape: halved.shape }, "batch");
  };
  const [front, back] = [Math.floor(rows / 2), rows - Math.floor(rows / 2)];
  return builder.emitOne("Concat", [half("a", 0, cut, front), half("b", cut, data.length, back)], {
    axis: 0,
  });
}

function elements(
  random: RandomSource,
  edges: readonly (number | bigint)[],
  dtype: DType,
  draw: Draw,
): (place: number) => number | bigint {
  if (typeof draw === "function") return draw;
  const unsigned = dtype === "u8" || dtype === "u64" || dtype === "bool";
  const offset = random.integer(0, 60);
  switch (draw) {
    case "edges":
      return () => edges[random.integer(0, edges.length - 1)] ?? 0;
    case "whole":
      return () => random.integer(unsigned ? 0 : -2, dtype === "bool" ? 1 : 2);
    case "tame":
      return () => (isFloat(dtype) ? random.between(0.25, 4) : random.integer(1, 5));
    case "distinct":
      if (dtype === "bool") return () => random.integer(0, 1);
      return (at) => ((at * 7 + offset) % 61) - (unsigned ? 0 : 30);
  }
}

/** A new tensor whose elements are `from(place)` of the given tensor. */
function pickElements(
  { dtype, data }: HostTensor,
  shape: Shape,
  from: (place: number) => number,
): HostTensor {
  const out = data.slice(0, 0).constructor as new (length: number) => typeof data;
  const elements = new out(elementCount(shape, "test data"));
  for (let at = 0; at < elements.length; at++) elements[at] = data[from(at)] as never;
  return { dtype, shape, data: elements } as HostTensor;
}

function createKit(instance: Instance): Kit {
  const { builder, dtype, random, shape, emitted, form, flushes } = instance;
  const edges = hostData(dtype, edgeNumbers(dtype, flushes(dtype)));
  const count = edges.data.length;
  const any = (): number => random.integer(0, count - 1);
  const turn = random.integer(0, PAIRS - 1);
  const pairs = (of: (pair: number) => number): Value =>
    placeOperand(
      instance,
      pickElements(edges, shape, (at) => (at < PAIRS ? of((at + turn) % PAIRS) : any())),
    );
  const made = new Map<string, Value>();
  const once = (name: string, make: () => Value): Value => {
    const value = made.get(name) ?? make();
    made.set(name, value);
    return value;
  };
  const number = (x: number): Value => {
    const last = shape.at(-1) ?? 1;
    const forms: Readonly<Record<NumberForm, Shape>> = {
      scalar: [],
      fed: [],
      one: [1],
      row: [last],
      whole: shape,
    };
    const tensor = pickElements(hostData(dtype, [x]), forms[form], () => 0);
    if (form !== "fed") return builder.constant(tensor);
    const name = `${instance.name}.${instance.operands++}`;
    instance.inputs[name] = tensor;
    return builder.input(name, { dtype, shape: [] }, "batch");
  };
  const all: Kit["all"] = (op, attributes, ...operands) => {
    const results = builder.emit(op, operands, attributes);
    for (const value of results) emitted.push({ value, op });
    return results;
  };
  const by: Kit["by"] = (op, attributes, ...operands) => all(op, attributes, ...operands)[0] as Value;
  const of: Kit["of"] = (own, draw = "distinct", type = dtype) =>
    placeOperand(
      instance,
      generate(type, own, elements(random, edgeNumbers(type, flushes(type)), type, draw)),
    );
  const emit =
    (op: Op) =>
    (first: object, ...rest: readonly Value[]): Value =>
      "id" in first ? by(op, {} as never, first as Value, ...rest) : by(op, first as never, ...rest);
  return {
    dtype,
    random,
    flushes: flushes(dtype),
    get x() {
      return once("x", () => pairs((pair) => Math.floor(pair / count) % count));
    },
    get y() {
      return once("y", () => pairs((pair) => pair % count));
    },
    get z() {
      return once("z", () => placeOperand(instance, pickElements(edges, shape, any)));
    },
    get divisor() {
      const places = Array.from({ length: count }, (_, at) => at);
      const nonZero = places.filter((at) => isFloat(dtype) || Number(edges.data[at]) !== 0);
      const draw = (): number => nonZero[random.integer(0, nonZero.length - 1)] ?? 0;
      return once("divisor", () => placeOperand(instance, pickElements(edges, shape, draw)));
    },
    of,
    edges: (...own) => of(own, "edges"),
    whole: (...own) => of(own, "whole"),
    tame: (...own) => of(own, "tame"),
    filled: (value, ...own) => of(own, () => value),
    listed: (numbers, ...own) => of(own, (at) => numbers[at] ?? 0),
    // Equal numbers of a pattern share one constant, except where inner values are outputs.
    c: (x) => (instance.keepsInner ? number(x) : once(Object.is(x, -0) ? "-0" : String(x), () => number(x))),
    held: (tensor) => placeOperand(instance, tensor),
    constant: (tensor) => builder.constant(tensor),
    all,
    by,
    ...(rowsOf(OPS, emit) as { readonly [K in Op]: Kit[K] }),
  };
}

/** A new graph for one pattern. */
const alone = (
  dtype: DType,
  place: Feed,
  random: RandomSource,
  flushes: Fit["flushes"] = () => true,
): Instance => ({
  ...writing(),
  ...{ name: "x", dtype, place, random, flushes },
  form: "scalar",
  shape: [2],
  keepsInner: false,
  emitted: [],
  operands: 0,
});

/** A kit whose operands are inputs of a graph. */
export function inputKit(dtype: DType, random: RandomSource): Writing & { readonly kit: Kit } {
  const instance = alone(dtype, "inputs", random);
  return { ...instance, kit: createKit(instance) };
}

interface Checked {
  readonly value: Value;
  readonly called: string;
  /** The operators that the value is computed by. */
  readonly ops: readonly Op[];
  readonly slack: number;
}

/** The sum of the tolerances of all nodes that a value is computed by. */
function allowanceFor(manifest: BackendManifest, { value, ops, slack }: Checked): Allowance {
  const parts = ops.map((op) => manifestAllowance(manifest, op, value.dtype));
  return parts.reduce(
    (sum, part) => ({
      ulp: sum.ulp + part.ulp * slack,
      floor: Math.max(sum.floor, part.floor),
      signedZero: sum.signedZero && part.signedZero,
      flushes: sum.flushes || part.flushes,
    }),
    EXACT,
  );
}

const asPattern = (entry: PatternTable["patterns"][string]): Pattern =>
  typeof entry === "function" ? { make: entry } : entry;

const writing = (): Writing => ({ builder: new GraphBuilder(), inputs: {}, slots: {} });

/** The places that a backend can feed. It needs a Concat for an inner value. */
function feedable(places: readonly Feed[], dtype: DType, { supports }: Fit): readonly Feed[] {
  const builder = new GraphBuilder();
  const x = builder.input("x", { dtype, shape: [1] }, "batch");
  const graph = builder.finish({ y: builder.emitOne("Concat", [x, x], { axis: 0 }) });
  return places.filter((place) => place !== "inner-values" || supports(graph));
}

/** The patterns that a backend runs with operands in the given places. */
function* fitting(
  { patterns, dtypes }: PatternTable,
  dtype: DType,
  places: readonly Feed[],
  { supports, flushes }: Fit,
  isLoop: boolean,
): Generator<readonly [title: string, index: number, pattern: Pattern]> {
  if (places.length === 0) return;
  const place: Feed = places.includes("inner-values") ? "inner-values" : "inputs";
  for (const [index, [title, entry]] of Object.entries(patterns).entries()) {
    const pattern = asPattern(entry);
    if (!(pattern.dtypes ?? dtypes).includes(dtype)) continue;
    const trial = alone(dtype, place, randomSource(0, title), flushes);
    const results = [pattern.make(createKit(trial))].flat();
    const graph = trial.builder.finish(new Map(results.map((value, at) => [`y${at}`, value])));
    if (supports(isLoop ? looped(graph) : graph)) yield [title, index, pattern];
  }
}

/** Number of nodes at which a new graph begins, since engines compile in more than linear time. */
const MOST_NODES = 64;

function* checks(
  table: PatternTable,
  dtype: DType,
  places: readonly Feed[],
  fit: Fit,
  random: RandomSource,
  isLoop: boolean,
): Generator<GraphCheck> {
  const usable = feedable(places, dtype, fit);
  let graph = writing();
  let outputs = new Map<string, Checked>();
  let nodes = 0;
  const finish = (): GraphCheck => {
    const { builder, inputs, slots } = graph;
    const written = outputs;
    [graph, outputs, nodes] = [writing(), new Map(), 0];
    const finished = builder.finish(new Map([...written].map(([name, { value }]) => [name, value])));
    return {
      graph: isLoop ? looped(finished) : finished,
      inputs,
      allowance: (manifest, output) => allowanceFor(manifest, written.get(output) as Checked),
      describe: (output) => written.get(output)?.called ?? output,
      ...(Object.keys(slots).length > 0 ? { slots } : {}),
    };
  };
  for (const [title, index, { make, slack = 1 }] of fitting(table, dtype, usable, fit, isLoop)) {
    const place = usable[(index >> 1) % usable.length] as Feed;
    const turn = PLACES.findIndex(([, own]) => own.includes(place));
    // Each pattern has its inner values as outputs in only one of the places.
    const again = index % PLACES.length === turn ? [true] : [];
    const ways = dtype === "f32" ? [false, ...again] : [index % 2 === 1];
    for (const keepsInner of ways) {
      const at = keepsInner ? 1 : 0;
      const form = NUMBER_FORMS[(index + at + turn) % NUMBER_FORMS.length] as NumberForm;
      const instance: Instance = {
        ...graph,
        name: `p${index}.${at}`,
        dtype,
        place,
        form,
        shape: SHAPES[(index + at + turn) % SHAPES.length] as Shape,
        random,
        flushes: fit.flushes,
        keepsInner,
        emitted: [],
        operands: 0,
      };
      const ends = [make(createKit(instance))].flat();
      const { emitted } = instance;
      nodes += emitted.length;
      emitted.forEach(({ value }, position) => {
        if (!keepsInner && !ends.includes(value)) return;
        const ops = emitted.slice(0, position + 1).map(({ op }) => op);
        const what = `${emitted[position]?.op} ${position + 1} of ${emitted.length}, ${formatType(value)}`;
        const called = `"${title}" of ${place}, ${form}${keepsInner ? ", with inner values" : ""}: ${what},`;
        outputs.set(`${instance.name}.y${position}`, { value, called, ops, slack });
      });
    }
    if (nodes >= MOST_NODES) yield finish();
  }
  if (outputs.size > 0) yield finish();
}

/** The cases of a table: `rewrite/<name>-<dtype>/of-<place>`. */
export function patternCases(name: string, table: PatternTable): readonly ConformanceCase[] {
  const dtypes = new Set(
    Object.values(table.patterns).flatMap((entry) => asPattern(entry).dtypes ?? table.dtypes),
  );
  return [...dtypes].flatMap((dtype) => {
    return (dtype === "f32" ? PLACES : GATHERED).map(([called, places, isLoop = false]) =>
      partialCase(`rewrite/${name}-${dtype}/of-${called}`, {
        fits: (fit) => fitting(table, dtype, feedable(places, dtype, fit), fit, isLoop).next().done !== true,
        build: (fit, random) => checks(table, dtype, places, fit, random, isLoop),
      }),
    );
  });
}
