/** The interface between the loop and an engine: programs over one resident state, traced from functions of tensors. */
import {
  type Backend,
  type HostTensor,
  isHostTensor,
  isTensor,
  leavesOf,
  mapTree,
  rebuildTree,
  type Tensor,
  type TensorTree,
  type Traced,
  type Tree,
  zeros,
} from "@mp/core";
import { prepareGraph, type State, type StateBinding, traceInto } from "@mp/core/graph";

type Trees = Readonly<Record<string, Tree<HostTensor>>>;
export type Values = Readonly<Record<string, HostTensor>>;

/** The leaves of trees by path: values in the form that goes in and out of a program. */
const flat = (trees: Trees): Values => Object.fromEntries(leavesOf(trees, isHostTensor, "values"));

/** The role of an input. Policies cast parameters to the other operand's dtype; other f32 inputs widen an operation. */
function inputRole(path: string): "parameter" | "state" | "batch" {
  if (path.startsWith("fed/")) return "batch";
  return path === "state/master" || path.startsWith("state/master/") ? "parameter" : "state";
}

function traceGraph(trees: Trees, body: (inputs: never) => unknown) {
  const inputs = leavesOf(trees, isHostTensor, "inputs").map(([name, type]) => ({
    name,
    role: inputRole(name),
    type,
  }));
  const result = traceInto(inputs, (tensors) => body(rebuildTree(trees, isHostTensor, tensors) as never));
  return prepareGraph(result.graph);
}

/** Runs a function of trees once on the engine; returns its results by path. */
async function runOnce<T extends Trees>(
  backend: Backend,
  trees: T,
  body: (inputs: Traced<T>) => unknown,
): Promise<Values> {
  const executable = await backend.compile(traceGraph(trees, body as never));
  try {
    return await executable.run(flat(trees));
  } finally {
    await executable.dispose();
  }
}

/** The state between two calls: part by part a tree of tensors. */
export type StateTrees = Readonly<Record<string, TensorTree>>;

export interface ProgramParts<S extends StateTrees, F extends Trees> {
  /** Data of the types that each run is fed. */
  readonly example: F;
  /**
   * The program. Parts of the state in `next` replace the present ones: always, or only where the output `applied` is
   * true.
   */
  readonly body: (
    state: S,
    fed: Traced<F>,
  ) => {
    readonly next: Partial<S>;
    readonly commit: "always" | "when-applied";
    readonly outputs: Readonly<Record<string, Tensor>>;
  };
}

/** State on the engine, and programs that read and replace it. */
export class EngineState<S extends StateTrees> {
  readonly #backend: Backend;
  readonly #types: Trees;
  readonly state: State;

  private constructor(backend: Backend, types: Trees, state: State) {
    this.#backend = backend;
    this.#types = types;
    this.state = state;
  }

  /** Makes the state by a function of the data. */
  static async of<S extends StateTrees, T extends Trees>(
    backend: Backend,
    data: T,
    start: (inputs: Traced<T>) => S,
  ): Promise<EngineState<S>> {
    let types: Trees = {};
    const values = await runOnce(backend, data, (inputs) => {
      const state = start(inputs);
      types = mapTree(state, isTensor, ({ dtype, shape }: Tensor) => zeros(shape, dtype)) as Trees;
      return state;
    });
    return new EngineState<S>(backend, types, await backend.createState(values));
  }

  /** Compiles a program over the state, and returns a function that runs it. */
  async program<F extends Trees>({
    example,
    body,
  }: ProgramParts<S, F>): Promise<(fed: F) => Promise<Values>> {
    let commit: "always" | "when-applied" = "always";
    let replaced = new Set<string>();
    const graph = traceGraph({ state: this.#types, fed: example }, (inputs) => {
      const { state, fed } = inputs as { readonly state: S; readonly fed: Traced<F> };
      const made = body(state, fed);
      commit = made.commit;
      replaced = new Set(Object.keys(made.next));
      return { ...made.outputs, next: made.next };
    });
    const bindings = Object.keys(this.state.types).map((slot): StateBinding => {
      const input = `state/${slot}`;
      const [part = ""] = slot.split("/");
      return replaced.has(part) ? { slot, input, output: `next/${slot}`, commit } : { slot, input };
    });
    const isConditional = graph.outputs.some(({ name }) => name === "applied");
    const executable = await this.#backend.compile(graph, {
      state: this.state,
      bindings,
      ...(isConditional ? { applied: "applied" } : {}),
    });
    return (fed) => executable.run(flat({ fed }));
  }

  /** Reads a part of the state to the host, by path. */
  async read(part: string): Promise<Values> {
    return this.state.read(this.#slots(part));
  }

  /** Sets every element of a part of the state to 0. */
  async clear(part: string): Promise<void> {
    const cleared = this.#slots(part).map((slot) => {
      const { dtype, shape } = this.state.types[slot] as HostTensor;
      return [slot, zeros(shape, dtype)] as const;
    });
    await this.state.write(Object.fromEntries(cleared));
  }

  #slots(part: string): readonly string[] {
    return Object.keys(this.state.types).filter((slot) => slot === part || slot.startsWith(`${part}/`));
  }
}
