/** Nodes that differ in one attribute, made from the samples of the operator. */
import {
  type DType,
  elementCount,
  formatType,
  type Graph,
  GraphBuilder,
  type HostTensor,
  isFloat,
  isHostTensor,
  type Op,
  type OpAttributes,
  opDTypes,
} from "@mp/graph";
import { evaluate } from "@mp/graph/reference";
import { type Allowance, EXACT } from "../../../compare/allowance.js";
import { compareTensors } from "../../../compare/compare-tensors.js";
import { numbersOf } from "../../../host-data.js";
import { type RandomSource, randomSource } from "../../../random-source.js";
import type { OpSample, Sampled } from "../../../samples/op-sample.js";
import { opRows } from "../../../samples/op-table.js";
import { ceilingOf } from "../../../tolerance/ceiling-table.js";
import type { Tensors } from "../../kinds/graph-case.js";
import { MORE } from "./attribute-samples.js";

/** A node with one attribute changed. */
export interface Variant {
  readonly what: string;
  readonly attributes: object;
}

/** A node and others that differ from it in one attribute each, all on the same operands. */
export interface Variants {
  readonly op: Op;
  readonly dtype: DType;
  readonly inputs: readonly HostTensor[];
  readonly variants: readonly [Variant, ...Variant[]];
}

/** Small operands: their number of elements counts only in time. */
const MOST_ELEMENTS = 400;
/** Per attribute, over all samples of the operator. */
const MOST_VARIANTS = 2;
/** Per attribute that has few values: modes, dtypes, bits of a key. */
const MOST_OF_FEW = 8;

const STUB: RandomSource = randomSource(1, "programs");

/** The dtype in which an operator is varied: its first. */
const dtypeOf = (op: Op): DType => opDTypes[op][0] ?? "f32";

function samplesOf(op: Op, random: RandomSource): readonly OpSample<Op>[] {
  const draw = opRows[op].samples as Sampled<Op>;
  const sized = ({ inputs }: OpSample<Op>): number =>
    inputs.reduce((sum, { shape }) => sum + elementCount(shape, "a sample"), 0);
  const isModest = ({ inputs }: OpSample<Op>): boolean =>
    inputs.every((tensor) => !isFloat(tensor.dtype) || numbersOf(tensor).every((x) => Math.abs(x) < 1e4));
  const more = (MORE[op] ?? []) as readonly OpSample<Op>[];
  return [...more, ...Object.values(draw(dtypeOf(op), random)).flat()].filter(
    (sample) => sized(sample) <= MOST_ELEMENTS && isModest(sample),
  );
}

/** Operators with attributes. A constant's value has cases of its own. */
export const attributedOps: readonly Op[] = (Object.keys(opRows) as Op[]).filter(
  (op) =>
    op !== "Constant" && samplesOf(op, STUB).some(({ attributes }) => Object.keys(attributes).length > 0),
);

/** The graph of one node. Its results are named by `tag`. */
export function nodeGraph(
  op: Op,
  inputs: readonly HostTensor[],
  attributes: object,
  tag: string,
): { readonly graph: Graph; readonly inputs: Tensors } {
  const builder = new GraphBuilder();
  const operands = inputs.map((type, at) => builder.input(`x${at}`, type, "batch"));
  const results = builder.emit(op, operands, attributes as OpAttributes[Op]);
  return {
    graph: builder.finish(new Map(results.map((value, at) => [`${tag}${at}`, value]))),
    inputs: Object.fromEntries(inputs.map((tensor, at) => [`x${at}`, tensor])),
  };
}

/** The oracle's results; undefined where the attributes are not valid for those operands. */
function resultsOf(op: Op, inputs: readonly HostTensor[], attributes: object): Tensors | undefined {
  try {
    const node = nodeGraph(op, inputs, attributes, "y");
    return evaluate(node.graph, node.inputs);
  } catch {
    return undefined;
  }
}

/** Whether they differ by far more than any engine may be off. */
function differ(op: Op, a: Tensors, b: Tensors): boolean {
  const { f32, floor } = ceilingOf(op);
  const far: Allowance = { ...EXACT, ulp: 8 * f32, floor };
  return Object.entries(a).some(([name, tensor]) => compareTensors(b[name], tensor, far) !== undefined);
}

const typesOf = (results: Tensors): string => Object.values(results).map(formatType).join();

/** Other values of one attribute, of which some may be invalid. */
function othersOf(op: Op, key: string, value: unknown, elsewhere: readonly unknown[]): readonly unknown[] {
  if (typeof value === "boolean") return [!value];
  if (typeof value === "bigint") return [0n, 1n, 31n, 32n, 63n].map((bit) => value ^ (1n << bit));
  if (typeof value === "number")
    return Number.isInteger(value)
      ? [value + 1, ...(value > 0 ? [value - 1] : []), value * 2]
      : [value * 2, value + 1];
  if (!Array.isArray(value)) return elsewhere;
  const isFree = key === "shape" || (key === "axes" && op !== "Slice");
  const lists = [...listsLike(value), ...elsewhere].filter(Array.isArray);
  return lists
    .filter(({ length }) => length === value.length || (isFree && length > 0))
    .filter((list) => key !== "axes" || list.every((axis, at) => at === 0 || axis > list[at - 1]));
}

/** Lists of whole numbers that differ in one place, or only in their order. */
function listsLike(list: readonly unknown[]): readonly unknown[][] {
  const numbers = list.filter((x): x is number => typeof x === "number");
  if (numbers.length < list.length || list.length === 0) return [];
  const swapped = numbers.flatMap((x, at) => {
    const next = numbers[at + 1];
    return next === undefined || next === x ? [] : [numbers.with(at, next).with(at + 1, x)];
  });
  const last = numbers.length - 1;
  const raised = [last, 0].map((at) => numbers.with(at, (numbers[at] as number) + 1));
  const lowered = [last, 0].map((at) => numbers.with(at, Math.max(0, (numbers[at] as number) - 1)));
  return [...swapped, ...raised, ...lowered];
}

const isOneOfFew = (key: string, value: unknown): boolean =>
  typeof value === "bigint" || (typeof value === "string" && key !== "equation");

/** Whether every window has an element of the operand, and a slice is inside its operand: what the op set asks for. */
function isTame(attributes: object, [x]: readonly HostTensor[]): boolean {
  const { pads, kernelShape, strides, starts, ends, axes } = attributes as Readonly<
    Record<string, readonly number[]>
  >;
  if (pads !== undefined && kernelShape !== undefined && strides !== undefined) {
    const isCeiling = "ceilMode" in attributes && attributes.ceilMode === true;
    return pads.every((pad, at) => {
      const axis = at % kernelShape.length;
      return pad + (isCeiling ? (strides[axis] as number) - 1 : 0) < (kernelShape[axis] as number);
    });
  }
  if (starts === undefined || ends === undefined || axes === undefined) return true;
  return axes.every((axis, at) => {
    const size = x?.shape[axis] ?? 0;
    return (starts[at] as number) < size && (ends[at] as number) <= size;
  });
}

/** Equal attributes have the same text. */
const textOf = (value: unknown): string =>
  JSON.stringify(value, (_key, part: unknown) => (typeof part === "bigint" ? `${part}n` : part));

/** The attribute's values in all samples of the operator; names, modes and dtypes are found there. */
function valuesElsewhere(samples: readonly OpSample<Op>[], key: string): readonly unknown[] {
  const found = samples.map(({ attributes }) => (attributes as Record<string, unknown>)[key]);
  const isPlain = (value: unknown): boolean =>
    !isHostTensor(value) && !(value instanceof Object && "nodes" in value);
  return [...new Map(found.filter(isPlain).map((value) => [textOf(value), value])).values()];
}

/**
 * Nodes of the operator with others that differ from them in one attribute, and in their results by the oracle. Attributes
 * that no sample shows to matter are missing.
 */
export function attributeVariants(op: Op, random: RandomSource): readonly Variants[] {
  const samples = samplesOf(op, random);
  const keys = [...new Set(samples.flatMap(({ attributes }) => Object.keys(attributes)))];
  const elsewhere = new Map(keys.map((key) => [key, valuesElsewhere(samples, key)]));
  const counts = new Map(keys.map((key) => [key, 0]));
  const found: Variants[] = [];
  for (const { attributes, inputs } of samples) {
    const base = isTame(attributes, inputs) ? resultsOf(op, inputs, attributes) : undefined;
    if (base === undefined) continue;
    const variants: [Variant, ...Variant[]] = [{ what: `${op} as in a sample`, attributes }];
    const known: Tensors[] = [base];
    // First those whose results have the same types, which the key of a program is likely to hold.
    for (const mayDiffer of [false, true])
      for (const [key, value] of Object.entries(attributes)) {
        for (const other of othersOf(op, key, value, elsewhere.get(key) ?? [])) {
          const count = counts.get(key) ?? 0;
          if (count >= (isOneOfFew(key, value) ? MOST_OF_FEW : MOST_VARIANTS)) break;
          const changed = { ...attributes, [key]: other };
          const results = isTame(changed, inputs) ? resultsOf(op, inputs, changed) : undefined;
          if (results === undefined || (!mayDiffer && typesOf(results) !== typesOf(base))) continue;
          if (!known.every((seen) => differ(op, seen, results))) continue;
          known.push(results);
          counts.set(key, count + 1);
          variants.push({ what: `${op} with ${key} ${textOf(other)}`, attributes: changed });
        }
      }
    if (variants.length > 1) found.push({ op, dtype: dtypeOf(op), inputs, variants });
  }
  return found;
}
