import type { CompileOptions, StateBinding } from "../contract/backend.js";
import { MpError } from "../errors.js";
import type { Graph, ValueType } from "../graph/graph.js";
import { expectType } from "./check-tensor.js";

/** Bindings that have been checked against the graph and the state. */
export interface Bound {
  /** The slot that each graph input reads. */
  readonly reads: ReadonlyMap<string, string>;
  readonly always: readonly Replacement[];
  readonly whenApplied: readonly Replacement[];
  readonly applied: string | undefined;
  /**
   * The slots that each output replaces. An output that replaces slots is not a result of a run. An engine that writes
   * an output to one buffer must copy it for every slot after the first.
   */
  readonly taken: ReadonlyMap<string, readonly [slot: string, ...others: string[]]>;
}

export interface Replacement {
  readonly slot: string;
  readonly output: string;
}

/**
 * @throws MP_INVALID_ARGUMENT for a slot, input or output that does not exist or is bound twice, or a `when-applied`
 * commit without an `applied` output; MP_DTYPE_MISMATCH and MP_SHAPE_MISMATCH for types that differ
 */
export function resolveBindings(
  graph: Graph,
  slots: Readonly<Record<string, ValueType>> | undefined,
  { bindings = [], applied }: CompileOptions,
): Bound {
  if (slots === undefined && bindings.length > 0) throw invalid("bindings need a state");
  const inputs = new Map(graph.inputs.map(({ name, value }) => [name, value]));
  const outputs = new Map(graph.outputs.map(({ name, value }) => [name, value]));
  if (applied !== undefined) expectFlag(applied, outputs);
  const reads = new Map<string, string>();
  const replaced = new Set<string>();
  const always: Replacement[] = [];
  const whenApplied: Replacement[] = [];
  for (const binding of bindings) {
    // Every object inherits names such as "constructor".
    const slot = slots !== undefined && Object.hasOwn(slots, binding.slot) ? slots[binding.slot] : undefined;
    const type = expectFound(slot, `the state has no slot "${binding.slot}"`);
    const input = expectFound(inputs.get(binding.input), `the graph has no input "${binding.input}"`);
    expectType(`input "${binding.input}" of the slot "${binding.slot}"`, input, type);
    if (reads.has(binding.input)) throw invalid(`input "${binding.input}" is bound twice`);
    reads.set(binding.input, binding.slot);
    const { output } = binding;
    if (output === undefined) continue;
    const value = expectFound(outputs.get(output), `the graph has no output "${output}"`);
    expectType(`output "${output}" of the slot "${binding.slot}"`, value, type);
    if (replaced.has(binding.slot)) throw invalid(`slot "${binding.slot}" is replaced twice`);
    replaced.add(binding.slot);
    chooseGroup(binding, applied, always, whenApplied).push({ slot: binding.slot, output });
  }
  return { reads, always, whenApplied, applied, taken: listTaken([...always, ...whenApplied]) };
}

function listTaken(replacements: readonly Replacement[]): Bound["taken"] {
  const taken = new Map<string, [string, ...string[]]>();
  for (const { slot, output } of replacements) {
    const slots = taken.get(output);
    if (slots === undefined) taken.set(output, [slot]);
    else slots.push(slot);
  }
  return taken;
}

/** @throws MP_INVALID_ARGUMENT for an output that replaces a slot of a constant state */
export function expectReadOnly({ always, whenApplied }: Bound): void {
  const [replaced] = [...always, ...whenApplied];
  if (replaced === undefined) return;
  throw invalid(`output "${replaced.output}" would replace slot "${replaced.slot}" of a constant state`);
}

function chooseGroup<G>(binding: StateBinding, applied: string | undefined, always: G, whenApplied: G): G {
  if (binding.commit !== "when-applied") return always;
  if (applied === undefined) {
    throw invalid(`slot "${binding.slot}" commits when applied, but no output is named as \`applied\``);
  }
  return whenApplied;
}

function expectFlag(applied: string, outputs: ReadonlyMap<string, ValueType>): void {
  const type = expectFound(
    outputs.get(applied),
    `the graph has no output "${applied}" to decide what is applied`,
  );
  expectType(`output "${applied}"`, type, { dtype: "bool", shape: [] });
}

function expectFound<V>(value: V | undefined, message: string): V {
  if (value === undefined) throw invalid(message);
  return value;
}

function invalid(message: string): MpError<"MP_INVALID_ARGUMENT"> {
  return new MpError("MP_INVALID_ARGUMENT", `compile: ${message}`);
}
