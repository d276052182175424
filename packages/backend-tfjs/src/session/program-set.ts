import { byteLength, type HostTensor, type ValueType } from "@mp/graph";
import { handleName } from "../graph/handle-name.js";
import { type Variable, variableNodes } from "../graph/variables.js";
import type { TfjsBinding } from "../load/index.js";
import type { Program } from "../lowerings/program.js";
import { TfSession } from "./tf-session.js";
import { copyTensor, emptyTensor, WireTensor, wireTensor } from "./wire-tensor.js";

interface Loaded {
  readonly session: TfSession;
  readonly programs: ReadonlySet<Program>;
  readonly variables: ReadonlyMap<string, Variable>;
}

/**
 * Programs that share variables. Variables belong to a session, and a session's graph cannot grow. So for a
 * new program the set loads a new session, and moves the variables' values there from the old session.
 */
export class ProgramSet {
  readonly #binding: TfjsBinding;
  readonly #slots: ReadonlyMap<string, ValueType>;
  readonly #keys: ReadonlyMap<string, string>;
  /** Values of the slots while no session holds them. */
  readonly #initial: Map<string, HostTensor>;
  readonly #programs = new Set<Program>();
  #loaded: Loaded | undefined;
  #count = 0;

  constructor(binding: TfjsBinding, values: ReadonlyMap<string, HostTensor> = new Map()) {
    this.#binding = binding;
    const entries = [...values];
    this.#slots = new Map(entries.map(([slot, { dtype, shape }]) => [slot, { dtype, shape }]));
    this.#keys = new Map(entries.map(([slot], index) => [slot, `slot${index}`]));
    this.#initial = new Map(entries.map(([slot, value]) => [slot, copyTensor(value)]));
  }

  /** Total bytes of the slots. */
  get bytes(): number {
    return [...this.#slots.values()].reduce((sum, type) => sum + byteLength(type), 0);
  }

  /** A prefix, unique in this set, for the node names of a new program. */
  nextScope(): string {
    return `program${this.#count++}`;
  }

  /** The name of the variable handle of a slot. */
  handle(slot: string): string {
    return handleName(this.#key(slot));
  }

  add(program: Program): void {
    this.#programs.add(program);
  }

  /** Removes a program. Its nodes stay in the session until another session is loaded. */
  remove(program: Program): void {
    this.#programs.delete(program);
    if (this.#programs.size > 0) return;
    this.#unload();
  }

  /** Runs a program. @returns the ids of the result tensors */
  async run(program: Program, inputs: readonly number[]): Promise<readonly number[]> {
    const { session } = await this.#ready(program);
    const fed = program.inputs.flatMap(({ node }) => node ?? []);
    const fetched = program.results.flatMap(({ node }) => node ?? []);
    const results = session.run({ fed, fetched: [...fetched, program.done] }, inputs);
    const [done] = results.slice(-1);
    if (done !== undefined) this.#binding.deleteTensor(done);
    return results.slice(0, -1);
  }

  /** Copies the values of slots to the host. */
  read(slots: readonly string[]): readonly (readonly [slot: string, value: HostTensor])[] {
    const loaded = this.#loaded;
    if (loaded === undefined) {
      return slots.map((slot) => [slot, copyTensor(this.#initial.get(slot) as HostTensor)]);
    }
    const held = fetchAll(
      loaded,
      slots.map((slot) => this.#key(slot)),
    );
    try {
      return slots.map((slot) => {
        const type = this.#slots.get(slot) as ValueType;
        const id = held.get(this.#key(slot));
        return [slot, id === undefined ? emptyTensor(type) : this.#wire(slot, id).read()];
      });
    } finally {
      for (const id of held.values()) this.#binding.deleteTensor(id);
    }
  }

  write(values: readonly (readonly [slot: string, value: HostTensor])[]): void {
    if (this.#loaded === undefined) {
      for (const [slot, value] of values) this.#initial.set(slot, copyTensor(value));
      return;
    }
    this.#fill(
      this.#loaded,
      values.map(([slot, value]) => [this.#key(slot), value]),
    );
  }

  dispose(): void {
    this.#programs.clear();
    this.#loaded?.session.dispose();
    this.#loaded = undefined;
    this.#initial.clear();
  }

  async #ready(program: Program): Promise<Loaded> {
    const last = this.#loaded;
    if (last?.programs.has(program)) return last;
    const running = [...(last?.programs ?? [])].filter((each) => this.#programs.has(each));
    const least = new Set([...running, program]);
    const all = new Set([...this.#programs, program]);
    try {
      return await this.#load(all);
    } catch (error) {
      // A program that has not run yet may be the cause.
      if (least.size === all.size) throw this.#drop(program, error);
    }
    try {
      return await this.#load(least);
    } catch (error) {
      throw this.#drop(program, error);
    }
  }

  /** Drops a program that TensorFlow refuses, so that others keep their session. @returns the error */
  #drop(program: Program, error: unknown): unknown {
    this.#programs.delete(program);
    return error;
  }

  /** Loads a session with these programs in place of the current session, which stays if TensorFlow refuses. */
  async #load(programs: ReadonlySet<Program>): Promise<Loaded> {
    const types = [...this.#slots].map(([slot, type]) => [this.#key(slot), type] as const);
    // Constants with equal content share one entry, whichever program has them.
    const constants = new Map([...programs].flatMap((each) => [...each.constants]));
    const { nodes, variables } = variableNodes([...types, ...constants]);
    const session = await TfSession.load(this.#binding, [
      ...nodes,
      ...[...programs].flatMap((each) => each.nodes),
    ]);
    const next = { session, programs, variables };
    try {
      this.#fill(next, constants);
      this.#move(next);
    } catch (error) {
      session.dispose();
      throw error;
    }
    this.#loaded?.session.dispose();
    this.#loaded = next;
    this.#initial.clear();
    return next;
  }

  /** Moves the slots' values to the variables of the next session, from the last session or from the host. */
  #move(next: Loaded): void {
    const keys = [...this.#keys.values()];
    const last = this.#loaded;
    if (last === undefined) {
      this.#fill(
        next,
        [...this.#initial].map(([slot, value]) => [this.#key(slot), value]),
      );
      return;
    }
    const held = fetchAll(last, keys);
    try {
      assignAll(next, keys, held, this.#binding);
    } finally {
      for (const id of held.values()) this.#binding.deleteTensor(id);
    }
  }

  #fill(loaded: Loaded, values: Iterable<readonly [key: string, value: HostTensor]>): void {
    const wires = new Map<string, WireTensor>();
    const keys: string[] = [];
    try {
      for (const [key, value] of values) {
        keys.push(key);
        if (value.data.length > 0) wires.set(key, wireTensor(this.#binding, value));
      }
      const ids = new Map([...wires].map(([key, { id }]) => [key, id]));
      assignAll(loaded, keys, ids, this.#binding);
    } finally {
      for (const wire of wires.values()) wire.release();
    }
  }

  /** Frees the session when no program is left; the host keeps the slots' values for the next session. */
  #unload(): void {
    if (this.#loaded === undefined) return;
    for (const [slot, value] of this.read([...this.#slots.keys()])) this.#initial.set(slot, value);
    this.#loaded.session.dispose();
    this.#loaded = undefined;
  }

  #key(slot: string): string {
    const key = this.#keys.get(slot);
    if (key === undefined) throw new Error(`internal: there is no slot ${slot}`);
    return key;
  }

  #wire(slot: string, id: number): WireTensor {
    return new WireTensor(this.#binding, this.#slots.get(slot) as ValueType, id);
  }
}

/** Fetches variables. @returns the addon's tensor ids by key; variables without elements have none */
function fetchAll({ session, variables }: Loaded, keys: readonly string[]): ReadonlyMap<string, number> {
  const full = keys.flatMap((key) => {
    const read = variables.get(key)?.read;
    return read === undefined ? [] : [[key, read] as const];
  });
  if (full.length === 0) return new Map();
  const ids = session.run({ fed: [], fetched: full.map(([, read]) => read) }, []);
  return new Map(full.map(([key], index) => [key, ids[index] as number]));
}

/** Writes tensors to the variables with these keys; variables without elements need no tensor. */
function assignAll(
  { session, variables }: Loaded,
  keys: readonly string[],
  tensors: ReadonlyMap<string, number>,
  binding: TfjsBinding,
): void {
  if (keys.length === 0) return;
  const named = keys.map((key) => [key, variables.get(key) as Variable] as const);
  const fed = named.flatMap(([key, { fed }]) =>
    fed === undefined ? [] : [[fed, tensors.get(key)] as const],
  );
  const tokens = session.run(
    { fed: fed.map(([name]) => name), fetched: named.map(([, { written }]) => written) },
    fed.map(([, id]) => id as number),
  );
  for (const token of tokens) binding.deleteTensor(token);
}
