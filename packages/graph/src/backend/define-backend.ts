import { type Check, callback, object, oneOf, optional, text } from "../argument-checks.js";
import type {
  Backend,
  BackendStats,
  CompileOptions,
  Executable,
  Handle,
  State,
  StateOptions,
} from "../contract/backend.js";
import type { BackendManifest } from "../contract/manifest.js";
import { invalid } from "../errors.js";
import { validateGraph } from "../graph/build/validate.js";
import type { Graph } from "../graph/graph.js";
import type { HostTensor } from "../host/host-tensor.js";
import { shown } from "../shown.js";
import { expectReadOnly, resolveBindings } from "./bindings.js";
import { expectHostTensor } from "./check-tensor.js";
import { emulationWarnings } from "./emulation-warnings.js";
import { DefinedExecutable } from "./executable.js";
import { HandleTable } from "./handle-table.js";
import type { BackendHooks, Named, Program, StateFunctions } from "./hooks.js";
import { expectDTypeSupported, expectGraphSupported, expectStateSupported } from "./manifest.js";
import type { Ownership } from "./run-program.js";
import { type Slots, slotFunctions } from "./slots.js";
import { DefinedState } from "./state.js";
import { StateTypes } from "./state-types.js";
import { Storages, type Stored, withTruths } from "./storages.js";

/**
 * Makes a backend from an engine that runs whole graphs: `compile` prepares a graph, and `run` computes it.
 * `defineBackend` does the rest: it checks arguments, orders calls, copies data, commits states or rolls them back,
 * issues handles, counts what is held, and disposes at any moment.
 * @example
 * ```ts
 * const backend = defineBackend<HostTensor>({
 *   name: "mine",
 *   manifest,
 *   upload: (tensor) => ({ ...tensor, data: tensor.data.slice() }) as HostTensor,
 *   download: (stored) => ({ ...stored, data: stored.data.slice() }) as HostTensor,
 *   compile: (graph) => ({ run: (inputs) => engine.compute(graph, inputs) }),
 * });
 * ```
 */
export function defineBackend<T, S = never>(hooks: BackendHooks<T, S>): Backend {
  checkHooks(hooks);
  return openBackend(hooks, new Storages(hooks.name, hooks.manifest, hooks));
}

const HOOKS: { readonly [K in keyof BackendHooks<unknown, unknown>]-?: Check } = {
  name: text,
  manifest: object,
  upload: callback,
  download: callback,
  release: optional(callback),
  bytes: optional(callback),
  compile: callback,
  results: optional(oneOf("own", "until-next-run")),
  states: optional(object),
  adopt: optional(callback),
  emulationAdvice: optional(text),
  heldBytes: optional(callback),
  close: optional(callback),
};

/** Checks the hooks; an instance of a class may have other members, too. @throws MP_INVALID_ARGUMENT */
function checkHooks(hooks: object): void {
  object("defineBackend: the argument", hooks);
  for (const [name, check] of Object.entries(HOOKS))
    check(`defineBackend: ${name}`, (hooks as Readonly<Record<string, unknown>>)[name]);
}

/** Hooks may be methods of a class, so they are called on the author's object and never copied from it. */
type OwnHooks = Pick<
  BackendHooks<never, never>,
  "name" | "manifest" | "adopt" | "emulationAdvice" | "heldBytes" | "close"
>;

/** Makes a backend as `defineBackend` does. With `results`, the caller may count the uses of storages itself. */
export function openBackend<T, S>(
  hooks: OwnHooks & Pick<BackendHooks<T, S>, "compile" | "states"> & { readonly results?: Ownership },
  storages: Storages<T>,
): Backend {
  const { states, results = "own" } = hooks;
  if (states !== undefined) {
    return new DefinedBackend<T, S>({
      hooks,
      results,
      storages,
      states,
      compile: (graph, place) => hooks.compile(graph, place),
      slotsOf: () => undefined,
    });
  }
  return new DefinedBackend<T, Slots<T>>({
    hooks,
    results,
    storages,
    states: slotFunctions(storages),
    compile: (graph, place) => hooks.compile(graph, { ...place, state: undefined }),
    slotsOf: (slots) => slots,
  });
}

interface Definition<T, S> extends Pick<BackendHooks<T, S>, "compile"> {
  readonly hooks: OwnHooks;
  readonly storages: Storages<T>;
  readonly states: StateFunctions<S>;
  readonly results: Ownership;
  /** The slots of a state; undefined if the engine keeps the state. */
  readonly slotsOf: (kept: S) => Slots<T> | undefined;
}

class DefinedBackend<T, S> implements Backend {
  readonly name: string;
  readonly specVersion = "v1";
  readonly manifest: BackendManifest;
  /** Present only if the backend's author wrote the hook. */
  readonly adopt?: (value: object) => HostTensor | undefined;
  readonly #definition: Definition<T, S>;
  readonly #handles: HandleTable<Stored<T>>;
  readonly #states = new Set<DefinedState<S>>();
  readonly #executables = new Set<Executable>();
  /** Every state of this backend, including disposed ones. */
  readonly #known = new WeakMap<State, DefinedState<S>>();
  /** Pending calls that use the engine. */
  readonly #unsettled = new Set<Promise<unknown>>();
  #disposal: Promise<void> | undefined;

  constructor(definition: Definition<T, S>) {
    const { hooks, storages } = definition;
    this.name = hooks.name;
    this.manifest = hooks.manifest;
    this.#definition = definition;
    this.#handles = new HandleTable(hooks.name, ({ data }) => storages.pool.drop(data));
    if (hooks.adopt !== undefined)
      this.adopt = (value) => storages.attempt("adopt", () => hooks.adopt?.(value));
  }

  compile(graph: Graph, options: CompileOptions = {}): Promise<Executable> {
    return this.#settling(this.#compile(graph, options));
  }

  createState(values: Named<HostTensor>, options: StateOptions = {}): Promise<State> {
    return this.#settling(this.#createState(values, options));
  }

  upload(tensor: HostTensor): Promise<Handle> {
    return this.#settling(this.#upload(tensor));
  }

  download(handle: Handle): Promise<HostTensor> {
    return this.#settling(this.#download(handle));
  }

  stats(): BackendStats {
    this.#expectAlive();
    const { hooks, storages } = this.#definition;
    const keptBytes = (): number =>
      [...this.#states].reduce((sum, { bytes }) => sum + bytes, storages.pool.bytes);
    return {
      live: this.#handles.size + this.#states.size + this.#executables.size,
      bytes:
        hooks.heldBytes === undefined
          ? keptBytes()
          : storages.countBytes("heldBytes", () => hooks.heldBytes?.()),
    };
  }

  dispose(): Promise<void> {
    this.#disposal ??= this.#disposeAll();
    return this.#disposal;
  }

  async #compile(graph: Graph, options: CompileOptions): Promise<Executable> {
    this.#expectAlive();
    validateGraph(graph);
    expectGraphSupported(this.name, this.manifest, graph);
    const state = options.state === undefined ? undefined : this.#own(options.state);
    const bound = resolveBindings(graph, state?.types, options);
    const isConstant = state?.isConstant ?? false;
    if (isConstant) expectReadOnly(bound);
    const { hooks, storages, compile, slotsOf, results } = this.#definition;
    const compiling = storages.attempt("compile", async () =>
      expectProgram(await compile(graph, { bound, state: state?.kept, isConstant })),
    );
    state?.holdFor(compiling);
    const program = await compiling;
    try {
      this.#expectAlive();
      state?.expectAlive();
    } catch (error) {
      storages.attempt("dispose", () => program.dispose?.(state?.isDisposed ?? false));
      throw error;
    }
    const executable = new DefinedExecutable<T, S>({
      storages,
      graph,
      bound,
      program,
      results,
      slots: state === undefined ? undefined : slotsOf(state.kept),
      handles: this.#handles,
      manifest: this.manifest,
      state,
      warnings: listWarnings(this, graph, program, hooks.emulationAdvice),
      onDispose: (gone) => this.#executables.delete(gone),
    });
    this.#executables.add(executable);
    return executable;
  }

  async #createState(values: Named<HostTensor>, options: StateOptions): Promise<State> {
    this.#expectAlive();
    const checked = Object.entries(expectStateSupported(this.name, this.manifest, values));
    const tensors = Object.fromEntries(checked.map(([name, value]) => [name, withTruths(value)]));
    const types = new StateTypes(tensors);
    const { storages, states } = this.#definition;
    const adjacent = types.groups(options.adjacent ?? []);
    const kept = await storages.attempt("createState", () => states.create(tensors, adjacent));
    const state = new DefinedState<S>({
      storages,
      functions: states,
      types,
      kept,
      adjacent,
      isConstant: options.constant === true,
      onDispose: (gone) => this.#states.delete(gone),
    });
    this.#states.add(state);
    this.#known.set(state, state);
    return this.#unlessDisposed(state);
  }

  async #upload(tensor: HostTensor): Promise<Handle> {
    this.#expectAlive();
    const checked = expectHostTensor("upload: the tensor", tensor);
    expectDTypeSupported(this.name, this.manifest, checked, "the tensor");
    const type = { dtype: checked.dtype, shape: Object.freeze([...checked.shape]) };
    const handle = this.#handles.issue({
      ...type,
      data: await this.#definition.storages.upload(checked),
    });
    return this.#unlessDisposed(handle);
  }

  async #download(handle: Handle): Promise<HostTensor> {
    this.#expectAlive();
    const held = this.#handles.find(handle);
    if (held === undefined) throw invalid("download: takes a handle of this backend");
    return this.#definition.storages.download(held);
  }

  async #disposeAll(): Promise<void> {
    // From here on all objects reject further calls, before anything is awaited. States are disposed of first, so that
    // programs know not to preserve their values.
    const ending = [...this.#states, ...this.#executables].map((one) => one.dispose());
    // Objects under construction free themselves once they find the backend disposed.
    await Promise.allSettled(this.#unsettled);
    const { hooks, storages } = this.#definition;
    const handles = async (): Promise<void> => this.#handles.disposeAll();
    const ended = await Promise.allSettled([...ending, handles()]);
    await storages.attempt("close", () => hooks.close?.());
    for (const one of ended) if (one.status === "rejected") throw one.reason;
  }

  #own(state: State): DefinedState<S> {
    const own = this.#known.get(state);
    if (own === undefined) throw invalid(`${this.name}: the state belongs to another backend`);
    own.expectAlive();
    return own;
  }

  #settling<R>(call: Promise<R>): Promise<R> {
    this.#unsettled.add(call);
    const settle = (): void => void this.#unsettled.delete(call);
    call.then(settle, settle);
    return call;
  }

  /** Returns `made`. If the backend has been disposed of meanwhile, frees it and throws MP_DISPOSED. */
  async #unlessDisposed<R extends { dispose(): unknown }>(made: R): Promise<R> {
    if (this.#disposal === undefined) return made;
    await made.dispose();
    throw this.#definition.storages.disposedError("the backend");
  }

  #expectAlive(): void {
    if (this.#disposal !== undefined) throw this.#definition.storages.disposedError("the backend");
  }
}

function expectProgram<T>(program: Program<T>): Program<T> {
  if (typeof program?.run === "function") return program;
  throw new Error(`it gave ${shown(program)} in place of a program, which has a function run`);
}

const listWarnings = <T>(
  { name, manifest }: Backend,
  graph: Graph,
  { warnings = [] }: Program<T>,
  advice: string | undefined,
): Executable["warnings"] => [...emulationWarnings(name, manifest, graph, advice), ...warnings];
