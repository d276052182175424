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
import type { StateLayout } from "./state-layout.js";

interface ModuleParts {
  readonly graph: Graph;
  readonly bound: Bound;
  readonly layout: StateLayout;
  /** Whether the buffers of the state that a run replaces are overwritten by it. */
  readonly isDonating: boolean;
  readonly options: EmitterOptions;
}

/** Values of a program by name, and the buffers that they share. */
export interface NamedPacking {
  readonly names: readonly string[];
  readonly packing: Packing;
}

/** A graph as a StableHLO module, and how to call it. */
export interface ProgramModule {
  readonly text: string;
  /** The arguments: these buffers of the state, then the buffers of the inputs, then the constants. */
  readonly reads: readonly number[];
  readonly inputs: NamedPacking;
  /** The buffers of the inputs whose rows are divided among the devices. */
  readonly divided: ReadonlySet<number>;
  readonly constants: readonly HostTensor[];
  /** The results: these buffers of the state, then the buffers of the results. */
  readonly writes: readonly number[];
  readonly results: NamedPacking;
  /** The index of the result that is false if an index was out of range; undefined if none can be. */
  readonly rangeFlag: number | undefined;
  /** The types of the results. */
  readonly outputTypes: readonly ValueType[];
}

/**
 * Writes a program that takes the state's buffers and returns the ones that replace them. What commits when applied is
 * selected in the program, so that no flag has to reach the host before: a slot that is not to change is returned as it
 * was. So it is if an index was out of range.
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
  const batch = new Set(open.flatMap((input, index) => (isBatch(input, devices) ? [index] : [])));
  const openPacking = new Packing(
    open.map(({ value }) => value),
    batch,
  );
  const divided = new Set(Array.from(batch, (index) => openPacking.locationOf(index).buffer));

  const emitter = new Emitter(options);
  const argumentTypes = [
    ...reads.map((buffer) => layout.packing.buffers[buffer]?.type as ValueType),
    ...openPacking.buffers.map(({ type }) => type),
    ...lifted.constants,
  ];
  const args = argumentTypes.map(({ dtype, shape }, index): Operand => {
    return { name: `%arg${index}`, type: { dtype, shape } };
  });
  const stateArgument = (buffer: number): Operand => args[reads.indexOf(buffer)] as Operand;
  const oldValue = (slot: string): Operand => {
    const index = layout.indexOf(slot);
    return unpack(emitter, layout.packing, index, stateArgument(layout.packing.locationOf(index).buffer));
  };
  const openIndex = new Map(open.map(({ name }, index) => [name, index]));
  const fromRest = args.slice(reads.length + openPacking.buffers.length);
  const operands = inputs.map(({ name }, at): Operand => {
    if (at >= own.length) return fromRest[at - own.length] as Operand;
    const slot = bound.reads.get(name);
    if (slot !== undefined) return oldValue(slot);
    const index = openIndex.get(name) as number;
    const buffer = args[reads.length + openPacking.locationOf(index).buffer] as Operand;
    return unpack(emitter, openPacking, index, buffer);
  });
  const large = bound.whenApplied.filter(
    ({ slot }) => layout.packing.locationOf(layout.indexOf(slot)).offset === undefined,
  );
  const last = lastPart(lifted.graph, new Set(large.map(({ output }) => output)));
  const begins = last.inputs.map(({ name, value }) => ({ name, value }));
  const outputs = [...lifted.graph.outputs, ...begins];
  const made = emitGraph(emitter, { ...lifted.graph, inputs, outputs }, operands);
  const outputOf = new Map(graph.outputs.map(({ name }, index) => [name, made[index] as Operand]));

  const inRange = emitter.indicesInRange();
  const applied = bound.applied === undefined ? undefined : outputOf.get(bound.applied);
  const both = inRange && applied ? emitter.binary("and", inRange, applied) : (applied ?? inRange);
  // XLA would write new values to check them, read them again and select. What commits when applied is computed twice
  // instead, if it is large: to be checked, and from operands that are known after the check.
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
  const results = names.map((name) => outputOf.get(name) as Operand);
  if (inRange !== undefined) results.push(inRange);
  const packing = new Packing(results.map(({ type }) => type));
  const returned = [
    ...writes.map((buffer) =>
      pack(emitter, layout.packing, buffer, (index) => newValue(layout.slots[index] as string)),
    ),
    ...packing.buffers.map((_, buffer) =>
      pack(emitter, packing, buffer, (index) => results[index] as Operand),
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
    return `${name}: ${declare(type, divided.has(index - reads.length), aliasing)}`;
  });
  const returnedTypes = returned.map(({ type }) => declare(type, false));
  const mesh = devices === 1 ? "" : `${devicesText(devices)}\n`;
  const end = returned.length === 0 ? "return" : `return ${namesText(returned)} : ${typesText(returned)}`;
  return {
    text: `module @program {\n${mesh}func.func public @main(${parameters.join(", ")}) -> (${returnedTypes.join(", ")}) {\n${emitter.text()}\n${end}\n}\n}\n`,
    reads,
    inputs: { names: open.map(({ name }) => name), packing: openPacking },
    divided,
    constants: lifted.constants,
    writes,
    results: { names, packing },
    rangeFlag: inRange === undefined ? undefined : names.length,
    outputTypes: returned.map(({ type }) => type),
  };
}

/**
 * Whether the rows of an input are divided among devices: it holds samples along its first axis. What has one row is
 * the same for all samples.
 * @throws MP_SHAPE_MISMATCH if they cannot be
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

function unpack(emitter: Emitter, packing: Packing, index: number, buffer: Operand): Operand {
  const { offset } = packing.locationOf(index);
  if (offset === undefined) return buffer;
  const { shape } = packing.types[index] as ValueType;
  return emitter.reshape(emitter.sliceAxis(buffer, 0, offset, offset + count(shape)), shape);
}

function pack(
  emitter: Emitter,
  packing: Packing,
  buffer: number,
  memberValue: (index: number) => Operand,
): Operand {
  const { members, type } = packing.buffers[buffer] as Packing["buffers"][number];
  const [only = 0] = members;
  if (members.length === 1) return memberValue(only);
  const flat = members.map((index) => {
    const value = memberValue(index);
    return emitter.reshape(value, [count(value.type.shape)]);
  });
  return emitter.reshape(emitter.concat(flat, 0), type.shape);
}
