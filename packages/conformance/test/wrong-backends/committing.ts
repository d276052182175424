/**
 * A backend that commits by writing: the oracle runs with read-only bindings, and replaced slots are written
 * afterwards, in turn. It is correct itself; its parts can be replaced by faulty ones.
 */
import type {
  Backend,
  CompileOptions,
  Executable,
  Graph,
  HostTensor,
  RunInput,
  State,
  StateBinding,
} from "@mp/graph";
import { reference } from "@mp/graph/reference";
import { delegate } from "../../src/delegate.js";
import { executableOf } from "./wrapped.js";

type Values = Readonly<Record<string, HostTensor>>;

export interface Commit {
  readonly state: State;
  /** Next values by slot, for the bindings that commit now. */
  readonly values: Values;
  /** Values that are not committed, because the step is not applied. */
  readonly heldBack: Values;
}

export interface CommitFaults {
  /** Commits values. Default: writes them. */
  readonly commit?: (commit: Commit) => Promise<void>;
  /** Called before each run; default nothing. */
  readonly before?: (state: State) => Promise<void>;
  /** Whether a binding commits, among `all` that replace a slot. Default: always, or when the flag is set. */
  readonly commits?: (binding: StateBinding, applied: boolean, all: readonly StateBinding[]) => boolean;
  /** Runs that wait for each other: those of one state (default), those of one executable, or none. */
  readonly turns?: "state" | "executable" | "none";
  /** Called after a run that failed; default nothing. */
  readonly failed?: (
    graph: Graph,
    options: CompileOptions,
    inputs: Readonly<Record<string, RunInput>>,
  ) => Promise<void>;
}

const queues = new WeakMap<State | Executable, Promise<unknown>>();

export async function committing(faults: CommitFaults): Promise<Backend> {
  const backend = await reference();
  return delegate(backend, {
    compile: async (graph, options = {}) => {
      const { state, bindings = [], applied } = options;
      if (state === undefined || bindings.every(({ output }) => output === undefined))
        return backend.compile(graph, options);
      // Makes the oracle refuse invalid bindings.
      await (await backend.compile(graph, options)).dispose();
      const readOnly = bindings.map(({ slot, input }) => ({ slot, input }));
      const executable = await backend.compile(graph, { state, bindings: readOnly });
      return {
        ...executableOf(executable),
        run: runner(
          executable,
          graph,
          { state, bindings, ...(applied === undefined ? {} : { applied }) },
          faults,
        ),
      };
    },
  });
}

function runner(
  executable: Executable,
  graph: Graph,
  options: Required<Pick<CompileOptions, "state" | "bindings">> & Pick<CompileOptions, "applied">,
  { commit = write, before, commits = commitsAsBound, turns = "state", failed }: CommitFaults,
): Executable["run"] {
  const { state, bindings, applied: flag } = options;
  const written = bindings.flatMap((binding) =>
    binding.output === undefined ? [] : [{ ...binding, output: binding.output }],
  );
  const run = async (inputs: Readonly<Record<string, RunInput>>): Promise<Values> => {
    await before?.(state);
    const results = await executable.run(inputs).catch(async (error: unknown) => {
      await failed?.(graph, options, inputs);
      throw error;
    });
    const applied = flag === undefined || results[flag]?.data[0] !== 0;
    const pick = (now: boolean): Values =>
      Object.fromEntries(
        written
          .filter((binding) => commits(binding, applied, written) === now)
          .map(({ slot, output }) => [slot, results[output] as HostTensor]),
      );
    await commit({ state, values: pick(true), heldBack: pick(false) });
    const taken = new Set(written.map(({ output }) => output));
    return Object.fromEntries(Object.entries(results).filter(([name]) => !taken.has(name)));
  };
  return (inputs) => {
    if (turns === "none") return run(inputs);
    const shared = { state, executable }[turns];
    const turn = (queues.get(shared) ?? Promise.resolve()).then(() => run(inputs));
    queues.set(
      shared,
      turn.catch(() => undefined),
    );
    return turn;
  };
}

const write = ({ state, values }: Commit): Promise<void> => state.write(values);

export const commitsAsBound = ({ commit = "always" }: StateBinding, applied: boolean): boolean =>
  commit === "always" || applied;
