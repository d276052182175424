import type { State } from "../contract/backend.js";
import { invalid } from "../errors.js";
import type { ValueType } from "../graph/graph.js";
import type { HostTensor } from "../host/host-tensor.js";
import { shown } from "../shown.js";
import { callAll } from "./call-all.js";
import { copyTensor } from "./copy-of.js";
import type { Named, StateFunctions } from "./hooks.js";
import type { StateTypes } from "./state-types.js";
import { checkDownload, type Storages, withTruths } from "./storages.js";
import { WorkQueue } from "./work-queue.js";

export interface StateParts<S> {
  readonly storages: Pick<Storages<unknown>, "attempt" | "countBytes" | "disposedError">;
  readonly functions: StateFunctions<S>;
  readonly types: StateTypes;
  readonly kept: S;
  /** The groups of slots that `createState` was given as `adjacent`. */
  readonly adjacent: readonly (readonly string[])[];
  readonly isConstant: boolean;
  readonly onDispose: (state: DefinedState<S>) => void;
}

/** The state that users get: checks arguments when a method is called, then queues the work. */
export class DefinedState<S> implements State {
  /** Runs, reads, writes and disposals of the state, one at a time. */
  readonly queue: WorkQueue = new WorkQueue();
  /** Present only if the backend's author wrote the hook. */
  readonly inPlace?: NonNullable<State["inPlace"]>;
  readonly #parts: StateParts<S>;
  /** Pending compilations for the state, which is not released before they settle. */
  readonly #compiling = new Set<Promise<unknown>>();
  /** Functions that end the programs compiled for the state. */
  readonly #programs = new Set<() => void>();
  #disposal: Promise<void> | undefined;

  constructor(parts: StateParts<S>) {
    this.#parts = parts;
    const { inPlace } = parts.functions;
    if (inPlace !== undefined)
      this.inPlace = async (slots, change) => this.#change(slots, change, inPlace.bind(parts.functions));
  }

  get types(): Named<ValueType> {
    return this.#parts.types.byName;
  }

  /** True if the state never changes. */
  get isConstant(): boolean {
    return this.#parts.isConstant;
  }

  get isDisposed(): boolean {
    return this.#disposal !== undefined;
  }

  /** The state that the hook `create` returned, to pass to the other hooks. */
  get kept(): S {
    return this.#parts.kept;
  }

  get bytes(): number {
    const { storages, functions } = this.#parts;
    return storages.countBytes("bytes", () => functions.bytes(this.kept));
  }

  async read(names?: readonly string[]): Promise<Named<HostTensor>> {
    this.expectAlive();
    const { storages, functions, types } = this.#parts;
    const wanted = types.reading(names);
    return this.queue.push(() =>
      storages.attempt("read", async () => this.#checked(wanted, await functions.read(this.kept, wanted))),
    );
  }

  async write(values: Named<HostTensor>): Promise<void> {
    this.#expectWritable("write");
    const { storages, functions, types } = this.#parts;
    const given = types.writing(values).map(([name, value]) => [name, withTruths(value)] as const);
    const write = (entries: typeof given): unknown =>
      storages.attempt("write", () => functions.write(this.kept, Object.fromEntries(entries)));
    // The values to write are those that the arrays hold now, even if queued runs come first.
    if (this.queue.isIdle) {
      const writing = write(given);
      return this.queue.push(async () => void (await writing));
    }
    const copies = given.map(([name, value]) => [name, copyTensor(value)] as const);
    return this.queue.push(async () => void (await write(copies)));
  }

  dispose(): Promise<void> {
    this.#disposal ??= this.queue.push(async () => {
      await Promise.allSettled(this.#compiling);
      const { storages, functions, onDispose } = this.#parts;
      const release = (): void => storages.attempt("release", () => functions.release(this.kept));
      callAll([...this.#programs, release, () => onDispose(this)]);
    });
    return this.#disposal;
  }

  /** Delays the release of the engine's state until the call has settled. */
  holdFor(call: Promise<unknown>): void {
    this.#compiling.add(call);
    const settle = (): void => void this.#compiling.delete(call);
    call.then(settle, settle);
  }

  /** Calls `end` before the state is released, unless the returned function was called before. */
  beforeRelease(end: () => void): () => void {
    this.#programs.add(end);
    return () => void this.#programs.delete(end);
  }

  /** Picks the wanted slots from a hook's result. @throws Error for a slot that is missing or of another type */
  #checked(wanted: readonly string[], values: Named<HostTensor>): Named<HostTensor> {
    if (typeof values !== "object" || values === null)
      throw new Error(`it gave ${shown(values)} in place of values by slot`);
    return Object.fromEntries(
      wanted.map((slot) => {
        const value = values[slot];
        if (value === undefined) throw new Error(`it gave no "${slot}"`);
        return [slot, checkDownload(value, this.types[slot] as ValueType)];
      }),
    );
  }

  #change(
    slots: readonly string[],
    change: (values: Float32Array) => Promise<void>,
    inPlace: NonNullable<StateFunctions<S>["inPlace"]>,
  ): Promise<void> {
    this.#expectWritable("inPlace");
    const { storages, adjacent } = this.#parts;
    const group = adjacent.find((each) => each.join("\n") === slots.join("\n"));
    if (group === undefined) throw invalid(`inPlace: ${slots.join()} is no group of adjacent`);
    return this.queue.push(async () => {
      const failures: unknown[] = [];
      // An error of `change` is the caller's, not the engine's.
      const own = (values: Float32Array): Promise<void> =>
        change(values).catch((error: unknown) => void failures.push(error));
      await storages.attempt("inPlace", () => inPlace(this.kept, group, own));
      for (const failure of failures) throw failure;
    });
  }

  /** @throws MP_DISPOSED, MP_INVALID_ARGUMENT */
  #expectWritable(what: string): void {
    this.expectAlive();
    if (this.isConstant) throw invalid(`${what}: the state is constant; create another one`);
  }

  /** @throws MP_DISPOSED */
  expectAlive(what = "the state"): void {
    if (this.isDisposed) throw this.#parts.storages.disposedError(what);
  }
}
