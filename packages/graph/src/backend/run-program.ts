import type { ProfileRow } from "../contract/backend.js";
import type { Graph, ValueType } from "../graph/graph.js";
import type { HostTensor } from "../host/host-tensor.js";
import { shown } from "../shown.js";
import type { Bound } from "./bindings.js";
import type { Awaitable, Named, Program } from "./hooks.js";
import type { Slots } from "./slots.js";
import type { Storages } from "./storages.js";

/**
 * The way in which the uses of a run's storages are counted. `own`: each result is a new use. `until-next-run`: the
 * program keeps its results. `counted`: the program drops a use of each operand, and each result adds a use.
 */
export type Ownership = "own" | "until-next-run" | "counted";

export interface RunParts<T> {
  readonly storages: Storages<T>;
  readonly graph: Graph;
  readonly bound: Bound;
  readonly program: Program<T>;
  readonly results: Ownership;
  /** The state, unless the engine keeps it. */
  readonly slots: Slots<T> | undefined;
  /** The outputs that the program returns; see `collectOutputs`. */
  readonly outputs: ReadonlyMap<string, ValueType>;
}

type Results = Named<HostTensor>;
type Outputs<T> = ReadonlyMap<string, T>;

/** The outputs that the program returns; an engine that keeps the state returns fewer, see `Program.run`. */
export function collectOutputs<T>({
  graph,
  bound,
  program,
  slots,
}: Omit<RunParts<T>, "outputs">): ReadonlyMap<string, ValueType> {
  const isReturned = ({ name }: { readonly name: string }): boolean =>
    slots !== undefined || !bound.taken.has(name) || (name === bound.applied && program.commit !== undefined);
  return new Map(
    graph.outputs.filter(isReturned).map(({ name, value: { dtype, shape } }) => [name, { dtype, shape }]),
  );
}

/**
 * Runs a program. Copies results to the host before the commit, since nothing may fail after the commit. Awaits only
 * promises, because in a step of a few microseconds every needless await counts.
 * @param fed one use of each operand, which the run drops
 */
export async function runProgram<T>(
  parts: RunParts<T>,
  fed: ReadonlyMap<string, T>,
  onRow?: (row: ProfileRow) => void,
): Promise<Results> {
  const { storages, bound, program, results: ownership, slots } = parts;
  const operands = slots === undefined ? fed : withSlots(parts, slots, fed);
  /** Storages that lose one use when the run ends. */
  const held: T[] = ownership === "counted" ? [] : [...fed.values()];
  try {
    let given: Named<T>;
    try {
      given = await program.run(Object.fromEntries(operands), onRow);
    } catch (error) {
      throw storages.failure("run", error);
    }
    const outputs = takeOutputs(parts, given, held);
    const results: [string, HostTensor][] = [];
    for (const [name, type] of parts.outputs) {
      if (bound.taken.has(name)) continue;
      const copy = storages.copy(outputs.get(name) as T, type);
      results.push([name, copy instanceof Promise ? await copy : copy]);
    }
    const flag = readFlag(parts, outputs, results);
    const isApplied = flag instanceof Promise ? await flag : flag;
    if (slots !== undefined) await commit(parts, slots, outputs, isApplied);
    if (program.commit !== undefined) storages.attempt("commit", () => program.commit?.(isApplied));
    return Object.fromEntries(results);
  } finally {
    if (held.length > 0) storages.dropAll(held);
  }
}

function withSlots<T>(
  { storages, bound, results: ownership }: RunParts<T>,
  slots: Slots<T>,
  fed: ReadonlyMap<string, T>,
): ReadonlyMap<string, T> {
  const operands = new Map(fed);
  for (const [input, slot] of bound.reads) {
    const { data } = slots.current(slot);
    operands.set(input, ownership === "counted" ? storages.pool.share(data) : data);
  }
  return operands;
}

/**
 * Checks and counts the results of a program. @throws MP_BACKEND_FAILED if a result is missing or belongs to no output
 */
function takeOutputs<T>(
  { storages, results: ownership, outputs: types }: RunParts<T>,
  given: Named<T>,
  held: T[],
): Outputs<T> {
  const fail = (problem: string): never => {
    throw storages.failure("run", new Error(problem));
  };
  if (typeof given !== "object" || given === null)
    fail(`it gave ${shown(given)} in place of results by name`);
  const outputs = new Map<string, T>();
  const others: string[] = [];
  for (const [name, data] of Object.entries(given)) {
    if (data === undefined || data === null) continue;
    const type = types.get(name);
    if (ownership === "own") storages.retain(data, type ?? NO_TYPE);
    if (ownership !== "until-next-run") held.push(data);
    if (type === undefined) others.push(name);
    else outputs.set(name, data);
  }
  if (outputs.size < types.size) fail(`it gave no "${[...types.keys()].find((name) => !outputs.has(name))}"`);
  if (others.length > 0) fail(`it gave "${others[0]}", which is no output to return`);
  return outputs;
}

const NO_TYPE: ValueType = { dtype: "u8", shape: [0] };

/**
 * Whether the caller must replace the `when-applied` slots. False if the program returns no flag: the engine then
 * replaces them itself.
 */
function readFlag<T>(
  { bound: { applied, whenApplied }, storages, outputs: types }: RunParts<T>,
  outputs: Outputs<T>,
  results: readonly (readonly [name: string, value: HostTensor])[],
): Awaitable<boolean> {
  if (applied === undefined || whenApplied.length === 0) return false;
  const known = results.find(([name]) => name === applied)?.[1];
  if (known !== undefined) return isTrue(known);
  const type = types.get(applied);
  if (type === undefined) return false;
  const copy = storages.copy(outputs.get(applied) as T, type);
  return copy instanceof Promise ? copy.then(isTrue) : isTrue(copy);
}

const isTrue = ({ data }: HostTensor): boolean => data[0] !== 0;

/** Replaces slots by outputs, all at once. Storages that the program may overwrite are copied first. */
async function commit<T>(
  { bound, storages, results: ownership, outputs: types }: RunParts<T>,
  slots: Slots<T>,
  outputs: Outputs<T>,
  isApplied: boolean,
): Promise<void> {
  const replaced = [...bound.always, ...(isApplied ? bound.whenApplied : [])].map(({ slot, output }) => {
    const type = types.get(output) as ValueType;
    return [slot, { ...type, data: outputs.get(output) as T }] as const;
  });
  if (ownership !== "until-next-run") {
    for (const [, { data }] of replaced) storages.pool.share(data);
    slots.exchange(new Map(replaced));
    return;
  }
  const copies: [string, HostTensor][] = [];
  for (const [slot, { data, ...type }] of replaced) copies.push([slot, await storages.copy(data, type)]);
  slots.exchange(await storages.uploadAll(copies));
}
