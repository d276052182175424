import type { ProfileRow } from "../backend.js";
import type { Graph, ValueType } from "../graph/graph.js";
import type { HostTensor } from "../host-tensor.js";
import { shown } from "../shown.js";
import type { Bound } from "./bindings.js";
import type { Named, Program } from "./hooks.js";
import type { Slots } from "./slots.js";
import type { Storages, Stored } from "./storages.js";

/**
 * Whose the storages of a run are. `own`: results are new uses of them. `until-next-run`: results are the program's.
 * `counted`: every operand is a use for the program to drop, every result a use that it gives.
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
}

type Results = Named<HostTensor>;

/**
 * Runs a program whose turn it is: results are copied to the host first, since nothing may fail after the commit.
 * @param fed one use of each operand, which the run drops
 */
export async function runProgram<T>(
  parts: RunParts<T>,
  fed: ReadonlyMap<string, T>,
  onRow?: (row: ProfileRow) => void,
): Promise<Results> {
  const { storages, bound, program, results: ownership, slots } = parts;
  const isCounted = ownership === "counted";
  const operands = new Map(fed);
  if (slots !== undefined) {
    for (const [input, slot] of bound.reads) {
      const { data } = slots.current(slot);
      operands.set(input, isCounted ? storages.pool.share(data) : data);
    }
  }
  /** Uses that end with the run. */
  const held: T[] = isCounted ? [] : [...fed.values()];
  try {
    const given = await storages.attempt("run", () => program.run(Object.fromEntries(operands), onRow));
    const outputs = storages.attempt("run", () => taken(given, expected(parts), parts, held));
    const results = new Map<string, HostTensor>();
    for (const [name, { data, ...type }] of outputs) {
      if (bound.taken.has(name)) continue;
      const copy = storages.copy(data, type);
      results.set(name, copy instanceof Promise ? await copy : copy);
    }
    const isApplied = bound.whenApplied.length > 0 && (await flagOf(parts, outputs, results));
    if (slots !== undefined) await commit(parts, slots, outputs, isApplied);
    storages.attempt("commit", () => program.commit?.(isApplied));
    return Object.fromEntries(results);
  } finally {
    storages.dropAll(held);
  }
}

/** The outputs that the program returns. */
function expected<T>({ graph, bound, program, slots }: RunParts<T>): ReadonlyMap<string, ValueType> {
  const isReturned = ({ name }: { readonly name: string }): boolean =>
    slots !== undefined ||
    !bound.taken.has(name) ||
    (name === bound.applied && program.commit !== undefined && bound.whenApplied.length > 0);
  return new Map(graph.outputs.filter(isReturned).map(({ name, value }) => [name, value]));
}

/** Counts what a program gave. @throws Error if a result is missing or belongs to no output */
function taken<T>(
  given: Named<T>,
  types: ReadonlyMap<string, ValueType>,
  { storages, results: ownership }: RunParts<T>,
  held: T[],
): ReadonlyMap<string, Stored<T>> {
  if (typeof given !== "object" || given === null) {
    throw new Error(`it gave ${shown(given)} in place of results by name`);
  }
  const outputs = new Map<string, Stored<T>>();
  const others: string[] = [];
  for (const [name, data] of Object.entries(given)) {
    if (data === undefined || data === null) continue;
    const type = types.get(name);
    if (ownership === "own") storages.retain(data, type ?? { dtype: "u8", shape: [0] });
    if (ownership !== "until-next-run") held.push(data);
    if (type === undefined) others.push(name);
    else outputs.set(name, { dtype: type.dtype, shape: type.shape, data });
  }
  const missing = [...types.keys()].find((name) => !outputs.has(name));
  if (missing !== undefined) throw new Error(`it gave no "${missing}"`);
  if (others.length > 0) throw new Error(`it gave "${others[0]}", which is no output to return`);
  return outputs;
}

async function flagOf<T>(
  { bound, storages }: RunParts<T>,
  outputs: ReadonlyMap<string, Stored<T>>,
  results: ReadonlyMap<string, HostTensor>,
): Promise<boolean> {
  const name = bound.applied ?? "";
  const known = results.get(name);
  const output = outputs.get(name);
  // An engine that commits by itself returns no flag that a slot takes.
  if (known === undefined && output === undefined) return false;
  const flag = known ?? (await storages.copy((output as Stored<T>).data, output as Stored<T>));
  return flag.data[0] !== 0;
}

/** Replaces slots by outputs, all at once. What a program may overwrite is copied before. */
async function commit<T>(
  { bound, storages, results: ownership }: RunParts<T>,
  slots: Slots<T>,
  outputs: ReadonlyMap<string, Stored<T>>,
  isApplied: boolean,
): Promise<void> {
  const replaced = [...bound.always, ...(isApplied ? bound.whenApplied : [])].map(
    ({ slot, output }) => [slot, outputs.get(output) as Stored<T>] as const,
  );
  if (ownership !== "until-next-run") {
    for (const [, { data }] of replaced) storages.pool.share(data);
    slots.exchange(new Map(replaced));
    return;
  }
  const copies: [string, HostTensor][] = [];
  for (const [slot, { data, ...type }] of replaced) copies.push([slot, await storages.copy(data, type)]);
  slots.exchange(await storages.uploadAll(copies));
}
