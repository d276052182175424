import {
  expandComposites,
  formatShape,
  type Graph,
  type GraphInput,
  type HostTensor,
  isFloat,
  MpError,
  type Value,
  type ValueType,
} from "@mp/graph";
import type { Bound } from "@mp/graph/backend";
import { multipliesBytes } from "./byte-products.js";
import { joinSums } from "./join-sums.js";
import { lastPart } from "./last-part.js";
import { liftConstants } from "./lift-constants.js";
import { isFlash } from "./lowerings/attention.js";
import { emitGraph } from "./lowerings/emit-graph.js";
import { Packing } from "./packing.js";
import {
  count,
  devicesText,
  Emitter,
  type EmitterOptions,
  namesText,
  type Operand,
  rankOf,
  shardingAttribute,
  typesText,
  typeText,
} from "./stablehlo/index.js";

interface ModuleParts {
  readonly graph: Graph;
  readonly bound: Bound;
  /** The buffers of the state. */
  readonly layout: Packing;
  /** Whether a run overwrites the state buffers that it replaces. */
  readonly isDonating: boolean;
  readonly options: EmitterOptions;
}

/** The name of the result that is false if an index was out of range; there is none if that cannot happen. */
export const IN_RANGE: unique symbol = Symbol("in range");
export type ResultName = string | typeof IN_RANGE;

/** A graph as a StableHLO module, and how to call it. */
export interface ProgramModule {
  readonly text: string;
  /** Indices of the state buffers that are the first arguments; input buffers and constants follow. */
  readonly reads: readonly number[];
  readonly inputs: Packing;
  /** Indices of the input buffers whose rows are sharded over the devices. */
  readonly divided: readonly number[];
  readonly constants: readonly HostTensor[];
  /** Indices of the state buffers that are the first results; the buffers of `results` follow. */
  readonly writes: readonly number[];
  readonly results: Packing<ResultName>;
  /** The graph's outputs among the results. */
  readonly names: readonly string[];
  /** Whether the program multiplies 8-bit floats. */
  readonly multipliesBytes: boolean;
  /** The types of all results of the program, state buffers included. */
  readonly outputTypes: readonly ValueType[];
}

/**
 * Writes a program that takes the state's buffers and returns the buffers that replace them. The program
 * returns old values if an index was out of range, and for slots in `whenApplied` if the step is not applied.
 * So the host need not read a flag before it commits.
 */
export function writeModule({ graph, bound, layout, isDonating, options }: ModuleParts): ProgramModule {
  const expanded = expandComposites(graph, (node) => !(options.flashAttention === true && isFlash(node)));
  const lifted = liftConstants(joinSums(expanded.graph));
  const used = usedValues(lifted.graph);
  const inputs = lifted.graph.inputs.filter(({ value }) => used.has(value));
  const own = lifted.graph.inputs.slice(0, graph.inputs.length).filter(({ value }) => used.has(value));
  const open = own.filter(({ name }) => !bound.reads.has(name));
  const writes = layout.buffersOf([...bound.always, ...bound.whenApplied].map(({ slot }) => slot));
  const slotsRead = own.flatMap(({ name }) => bound.reads.get(name) ?? []);
  const reads = [...new Set([...writes, ...layout.buffersOf(slotsRead)])];
  const { devices } = options;
  const batch = open.filter((input) => isBatch(input, devices)).map(({ name }) => name);
  const openPacking = new Packing(
    open.map(({ name, value }) => [name, value]),
    batch,
  );
  const divided = openPacking.buffersOf(batch);

  const emitter = new Emitter(options);
  const argumentTypes = [
    ...reads.map((buffer) => layout.buffers[buffer]?.type as ValueType),
    ...openPacking.buffers.map(({ type }) => type),
    ...lifted.constants,
  ];
  const args = argumentTypes.map(({ dtype, shape }, index): Operand => {
    return { name: `%arg${index}`, type: { dtype, shape } };
  });
  const oldValue = (slot: string): Operand =>
    unpack(emitter, layout, slot, (buffer) => args[reads.indexOf(buffer)] as Operand);
  const fromRest = args.slice(reads.length + openPacking.buffers.length);
  const operands = inputs.map(({ name }, at): Operand => {
    if (at >= own.length) return fromRest[at - own.length] as Operand;
    const slot = bound.reads.get(name);
    if (slot !== undefined) return oldValue(slot);
    return unpack(emitter, openPacking, name, (buffer) => args[reads.length + buffer] as Operand);
  });
  const large = bound.whenApplied.filter(({ slot }) => layout.locationOf(slot).offset === undefined);
  const last = lastPart(lifted.graph, new Set(large.map(({ output }) => output)));
  const begins = last.inputs.map(({ name, value }) => ({ name, value }));
  const outputs = [...lifted.graph.outputs, ...begins];
  const made = emitGraph(emitter, { ...lifted.graph, inputs, outputs }, operands);
  const outputOf = new Map(graph.outputs.map(({ name }, index) => [name, made[index] as Operand]));

  const inRange = emitter.indicesInRange();
  const applied = bound.applied === undefined ? undefined : outputOf.get(bound.applied);
  const both = inRange && applied ? emitter.binary("and", inRange, applied) : (applied ?? inRange);
  // XLA would write new values, check them, read them again and select. Instead, large values that commit when applied
  // are computed twice: first to be checked, then from operands that depend on the check.
  const known = new Set(lifted.graph.inputs.map(({ value }) => value));
  const checked = made.slice(graph.outputs.length).map((x, index) => {
    const isKnown = known.has(begins[index]?.value as Value) || rankOf(x) === 0 || !isFloat(x.type.dtype);
    return both === undefined || isKnown ? x : emitter.select(both, x, 0);
  });
  const again = emitGraph(emitter, last, checked);
  const againOf = new Map(last.outputs.map(({ name }, index) => [name, again[index]]));
  const newValues = new Map<string, readonly [Operand | undefined, Operand | undefined]>([
    ...bound.always.map(({ slot, output }) => [slot, [outputOf.get(output), inRange]] as const),
    ...bound.whenApplied.map(
      ({ slot, output }) => [slot, [againOf.get(output) ?? outputOf.get(output), both]] as const,
    ),
  ]);
  const newValue = (slot: string): Operand => {
    const [value, condition] = newValues.get(slot) ?? [];
    if (value === undefined) return oldValue(slot);
    return condition === undefined ? value : emitter.select(condition, value, oldValue(slot));
  };
  const names = graph.outputs.map(({ name }) => name).filter((name) => !bound.taken.has(name));
  const resultOf = new Map<ResultName, Operand>(names.map((name) => [name, outputOf.get(name) as Operand]));
  if (inRange !== undefined) resultOf.set(IN_RANGE, inRange);
  const results = new Packing(Array.from(resultOf, ([name, { type }]) => [name, type] as const));
  const returned = [
    ...writes.map((buffer) => pack(emitter, layout, buffer, newValue)),
    ...results.buffers.map((_, buffer) =>
      pack(emitter, results, buffer, (name) => resultOf.get(name) as Operand),
    ),
  ];
  // A plugin for one device need not know Shardy.
  const declare = (type: ValueType, isDivided: boolean, others: readonly string[] = []): string => {
    const sharding = devices === 1 ? [] : [shardingAttribute(type.shape, isDivided)];
    const attributes = [...others, ...sharding].join();
    return `${typeText(type)}${attributes && ` {${attributes}}`}`;
  };
  const parameters = args.map(({ name, type }, index) => {
    const result = isDonating ? writes.indexOf(reads[index] ?? -1) : -1;
    const aliasing = result < 0 ? [] : [`tf.aliasing_output = ${result} : i32`];
    return `${name}: ${declare(type, divided.includes(index - reads.length), aliasing)}`;
  });
  const returnedTypes = returned.map(({ type }) => declare(type, false));
  const mesh = devices === 1 ? "" : `${devicesText(devices)}\n`;
  const end = returned.length === 0 ? "return" : `return ${namesText(returned)} : ${typesText(returned)}`;
  return {
    text: `module @program {\n${mesh}func.func public @main(${parameters.join(", ")}) -> (${returnedTypes.join(", ")}) {\n${emitter.text()}\n${end}\n}\n}\n`,
    reads,
    inputs: openPacking,
    divided,
    constants: lifted.constants,
    writes,
    results,
    names,
    multipliesBytes: multipliesBytes(lifted.graph),
    outputTypes: returned.map(({ type }) => type),
  };
}

/**
 * Whether the rows of an input are sharded over the devices. This is so only if the first axis holds samples and has
 * more than one row, because a single row is the same for all samples.
 * @throws MP_SHAPE_MISMATCH if the devices cannot divide the rows equally
 */
function isBatch({ name, role, value: { shape } }: GraphInput, devices: number): boolean {
  const [rows = 1] = shape;
  if (role !== "batch" || devices === 1 || rows === 1) return false;
  if (rows % devices === 0) return true;
  const message = `xla: ${name} ${formatShape(shape)} has ${rows} rows, which ${devices} devices cannot divide equally; pad the batch or leave samples out, to a multiple of ${devices}`;
  throw new MpError("MP_SHAPE_MISMATCH", message, { details: { input: name, rows, devices } });
}

/** The values that a node or an output of the graph reads. */
function usedValues({ nodes, outputs }: Graph): ReadonlySet<Value> {
  return new Set([...nodes.flatMap(({ inputs }) => inputs), ...outputs.map(({ value }) => value)]);
}

/** @param content returns the operand of a buffer */
function unpack(
  emitter: Emitter,
  packing: Packing,
  name: string,
  content: (buffer: number) => Operand,
): Operand {
  const { buffer, offset } = packing.locationOf(name);
  if (offset === undefined) return content(buffer);
  const { shape } = packing.typeOf(name);
  return emitter.reshape(emitter.sliceAxis(content(buffer), 0, offset, offset + count(shape)), shape);
}

function pack<N>(
  emitter: Emitter,
  packing: Packing<N>,
  buffer: number,
  memberValue: (name: N) => Operand,
): Operand {
  const { members, type } = packing.buffers[buffer] as Packing<N>["buffers"][number];
  if (members.length === 1) return memberValue(members[0] as N);
  const flat = members.map((name) => {
    const value = memberValue(name);
    return emitter.reshape(value, [count(value.type.shape)]);
  });
  return emitter.reshape(emitter.concat(flat, 0), type.shape);
}
