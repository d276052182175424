/** A backend with modified states and executables, each of which still maps to that of the original backend. */
import type { Backend, CompileOptions, Executable, Graph, HostTensor, State } from "@mp/graph";
import { reference } from "@mp/graph/reference";
import { delegate } from "../../src/delegate.js";

type Run = Executable["run"];
type Values = Readonly<Record<string, HostTensor>>;

/** The source of an executable. `state` is the one that users get; it wraps `inner`. */
export interface Compiled extends CompileOptions {
  readonly graph: Graph;
  readonly inner?: State | undefined;
}

export interface Changes {
  readonly upload?: (tensor: HostTensor, right: Backend["upload"]) => ReturnType<Backend["upload"]>;
  readonly createState?: (values: Values, right: (values: Values) => Promise<State>) => Promise<State>;
  readonly compile?: (compiled: Compiled, right: () => Promise<Executable>) => Promise<Executable>;
  /** Members that replace the state's own. */
  readonly state?: (state: State) => Partial<State>;
  /** Members that replace the executable's own. */
  readonly executable?: (executable: Executable, compiled: Compiled) => Partial<Executable>;
  readonly members?: Partial<Backend>;
}

export function wrapped(backend: Backend, changes: Changes): Backend {
  const inner = new WeakMap<State, State>();
  const createState = async (values: Values): Promise<State> => {
    const state = await backend.createState(values);
    const outer = { ...stateOf(state), ...changes.state?.(state) };
    inner.set(outer, state);
    return outer;
  };
  const compile = async (compiled: Compiled): Promise<Executable> => {
    const { graph, inner: behind, ...options } = compiled;
    const known = behind === undefined ? {} : { state: behind };
    const executable = await backend.compile(graph, { ...options, ...known });
    return { ...executableOf(executable), ...changes.executable?.(executable, compiled) };
  };
  return delegate(backend, {
    createState: (values) => changes.createState?.(values, createState) ?? createState(values),
    upload: (tensor) => changes.upload?.(tensor, (given) => backend.upload(given)) ?? backend.upload(tensor),
    compile: (graph, options = {}) => {
      const { state } = options;
      const compiled: Compiled = { ...options, graph, inner: state && (inner.get(state) ?? state) };
      return changes.compile?.(compiled, () => compile(compiled)) ?? compile(compiled);
    },
    ...changes.members,
  });
}

/** Copies the members as properties, since a spread does not copy methods. */
export function executableOf(executable: Executable): Executable {
  return {
    warnings: executable.warnings,
    run: (inputs) => executable.run(inputs),
    profile: (inputs) => executable.profile?.(inputs) ?? Promise.resolve([]),
    memory: () => executable.memory?.() ?? { peakBytes: 0 },
    dispose: () => executable.dispose(),
  };
}

function stateOf(state: State): State {
  return {
    types: state.types,
    read: (names) => state.read(names),
    write: (values) => state.write(values),
    dispose: () => state.dispose(),
  };
}

export const mapped = <T>(values: Readonly<Record<string, T>>, f: (value: T) => T): Record<string, T> =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [name, f(value)]));

export const isTensor = (value: unknown): value is HostTensor =>
  typeof value === "object" && value !== null && "data" in value && ArrayBuffer.isView(value.data);

/** The oracle with modified runs. */
export async function running(
  change: (run: Run, compiled: Compiled, backend: Backend) => Run,
): Promise<Backend> {
  const backend = await reference();
  return wrapped(backend, {
    executable: (executable, compiled) => ({
      run: change((inputs) => executable.run(inputs), compiled, backend),
    }),
  });
}
