import { type Backend, type HostTensor, prepareGraph, type State } from "@mp/graph";
import { evaluate, reference } from "@mp/graph/reference";
import { delegate } from "../../src/delegate.js";
import { type Commit, commitsAsBound, committing } from "./committing.js";
import { staleCasts } from "./stale-casts.js";
import { running } from "./wrapped.js";
import type { WrongBackend } from "./wrong-backend.js";

type Values = Readonly<Record<string, HostTensor>>;

/** Delays each commit until the next run begins. */
function late() {
  const pending = new WeakMap<State, Values>();
  return {
    before: async (state: State): Promise<void> => {
      const values = pending.get(state);
      pending.delete(state);
      if (values !== undefined) await state.write(values);
    },
    commit: async ({ state, values }: Commit): Promise<void> => {
      pending.set(state, values);
    },
  };
}

/**
 * Starts the step after a skip from the uncommitted values, as if it used the wrong buffer; a read returns the old
 * ones.
 */
function wrongBuffer() {
  const held = new WeakMap<State, Values>();
  return {
    before: async (state: State): Promise<void> => {
      const values = held.get(state);
      held.delete(state);
      if (values !== undefined) await state.write(values);
    },
    commit: async ({ state, values, heldBack }: Commit): Promise<void> => {
      await state.write(values);
      if (Object.keys(heldBack).length > 0) held.set(state, heldBack);
    },
  };
}

/** After a skip, also holds back the values of the next program that asks whether to commit. */
function holdingBack() {
  let [isFresh, isHeld, wasSkipped] = [true, false, false];
  return {
    before: async (): Promise<void> => {
      isFresh = true;
    },
    commits: (binding: Parameters<typeof commitsAsBound>[0], applied: boolean): boolean => {
      if (binding.commit !== "when-applied") return commitsAsBound(binding, applied);
      if (isFresh) [isFresh, isHeld, wasSkipped] = [false, wasSkipped, !applied];
      return applied && !isHeld;
    },
  };
}

/** Replaces slots one after the other where the step is applied, so that the second of two that swap has its own value. */
const swapsInTurn = (): Promise<Backend> =>
  running((run, { graph, bindings = [], applied = "", inner }) => async (inputs) => {
    const given = (input: string) => graph.inputs.find(({ name }) => name === input)?.value;
    const next = (output = "") => graph.outputs.find(({ name }) => name === output)?.value;
    const replaced = bindings.filter(
      ({ output, commit }) => output !== undefined && commit === "when-applied",
    );
    const results = await run(inputs);
    for (const [at, { slot, output }] of replaced.entries()) {
      const source = replaced.slice(0, at).find(({ input }) => given(input) === next(output));
      if (source === undefined || inner === undefined || results[applied]?.data[0] === 0) continue;
      await inner.write({ [slot]: (await inner.read([source.slot]))[source.slot] as HostTensor });
    }
    return results;
  });

const TRAINING = ["state", "skip", "loss-scale", "master-weights", "accumulate", "retry"];

export const stateFaults: readonly WrongBackend[] = [
  {
    fault: "steps that are not finite are applied",
    factory: () => committing({ commits: () => true }),
    axes: TRAINING,
    named: [
      "state/commit/each-group-at-its-own-time",
      "state/commit/a-skipped-non-finite-step-leaves-no-trace",
      "skip/sgd/nothing-moves-that-must-not",
      "skip/adam/nothing-moves-that-must-not",
      "skip/cause/a-model-state-that-is-not-finite",
    ],
    consequences: [/^(state|skip|accumulate|retry)\//],
  },
  {
    fault: "the model state commits though the step is skipped",
    factory: () =>
      committing({
        commits: (binding, applied) => binding.slot.startsWith("model") || commitsAsBound(binding, applied),
      }),
    axes: TRAINING,
    named: [
      "skip/sgd/nothing-moves-that-must-not",
      "skip/cause/a-model-state-that-is-not-finite",
      "skip/momentum/leaves-no-trace-in-the-steps-after",
    ],
    consequences: [/^skip\//, /^accumulate\//],
  },
  {
    fault: "the average commits though the step is skipped",
    factory: () =>
      committing({
        commits: (binding, applied) => binding.slot.startsWith("ema") || commitsAsBound(binding, applied),
      }),
    axes: TRAINING,
    named: ["skip/settable-rate-and-average/the-rate-stays-and-the-average-does-not-move"],
  },
  {
    fault: "commits take effect a step late",
    factory: () => committing(late()),
    axes: TRAINING,
    named: ["state/commit/each-group-at-its-own-time", "skip/sgd/nothing-moves-that-must-not"],
    consequences: [/^(state|skip|loss-scale|master-weights|accumulate|retry)\//],
  },
  {
    fault: "the step after a skip starts from the buffer of the skipped one",
    factory: () => committing(wrongBuffer()),
    axes: TRAINING,
    named: [
      "state/commit/each-group-at-its-own-time",
      "state/commit/a-skipped-non-finite-step-leaves-no-trace",
      "skip/sgd/leaves-no-trace-in-the-steps-after",
    ],
    consequences: [/^(state|skip|accumulate|retry)\//],
  },
  {
    fault: "a skip of one program holds back what the next one commits",
    factory: () => committing(holdingBack()),
    axes: ["objectives"],
    named: ["objectives/skip/one-without-the-other", "objectives/window/each-in-turn"],
  },
  {
    fault: "an output replaces only the last of its slots",
    factory: () =>
      committing({
        commits: (binding, applied, all) =>
          commitsAsBound(binding, applied) &&
          all.findLast(({ output }) => output === binding.output)?.slot === binding.slot,
      }),
    axes: ["state"],
    named: ["state/wiring/one-output-for-two-slots"],
  },
  {
    fault: "slots that swap when a step is applied are replaced in turn",
    factory: swapsInTurn,
    axes: ["state"],
    named: ["state/wiring/slots-swap-when-applied"],
  },
  {
    fault: "runs of one state do not wait for each other",
    factory: () =>
      committing({
        turns: "none",
        commit: async ({ state, values }) => {
          await new Promise((resolve) => setTimeout(resolve, 1));
          await state.write(values);
        },
      }),
    axes: ["state", "lifecycle", "skip"],
    named: ["state/sharing/runs-wait-their-turn"],
  },
  {
    fault: "runs wait for those of their executable, not for those of their state",
    factory: () => committing({ turns: "executable" }),
    axes: ["state", "lifecycle", "skip"],
    named: ["state/sharing/runs-wait-their-turn"],
  },
  {
    fault: "a failed run commits what was done before it failed",
    factory: () =>
      committing({
        failed: async (graph, { state, bindings = [] }, inputs) => {
          if (state === undefined) return;
          const read = await state.read();
          const bound = Object.fromEntries(
            bindings.map(({ slot, input }) => [input, read[slot] as HostTensor]),
          );
          for (const { slot, output } of bindings) {
            const one = prepareGraph({
              ...graph,
              outputs: graph.outputs.filter(({ name }) => name === output),
            });
            try {
              const result = evaluate(one, { ...bound, ...(inputs as Values) })[output ?? ""];
              if (result !== undefined) await state.write({ [slot]: result });
            } catch {
              // This output is the one that failed.
            }
          }
        },
      }),
    axes: ["state", "lifecycle", "skip"],
    named: ["state/failure/a-failed-run-changes-nothing"],
    consequences: [/^state\/failure\/a-refused-run-changes-nothing$/],
  },
  {
    fault: "casts of weights outlive a commit",
    factory: staleCasts,
    axes: ["state", "master-weights", "autocast", "cast", "lifecycle"],
    named: ["master-weights/f16/the-copy-is-never-stale", "master-weights/bf16/the-copy-is-never-stale"],
    consequences: [/^master-weights\/.*\/learns-from-small-updates$/],
  },
  {
    fault: "evaluation keeps the weights that it saw first",
    factory: async () => {
      const backend = await reference();
      return delegate(backend, {
        compile: async (graph, options = {}) => {
          const { state, bindings = [] } = options;
          const readsOnly = bindings.length > 0 && bindings.every(({ output }) => output === undefined);
          if (state === undefined || !readsOnly) return backend.compile(graph, options);
          const executable = await backend.compile(graph);
          let seen: Values | undefined;
          return {
            warnings: executable.warnings,
            profile: (inputs) => executable.profile?.({ ...seen, ...inputs }) ?? Promise.resolve([]),
            memory: () => executable.memory?.() ?? { peakBytes: 0 },
            dispose: () => executable.dispose(),
            run: async (inputs) => {
              if (seen === undefined) {
                const values = await state.read();
                seen = Object.fromEntries(
                  bindings.map(({ slot, input }) => [input, values[slot] as HostTensor]),
                );
              }
              return executable.run({ ...seen, ...inputs });
            },
          };
        },
      });
    },
    axes: ["state", "master-weights", "skip", "remat"],
    named: [
      "state/sharing/executables-see-each-others-commits",
      "master-weights/f16/the-copy-is-never-stale",
    ],
    consequences: [/^(state|master-weights|skip)\//, /^remat\/dropout/],
  },
  {
    fault: "of the slots that are written, the first keeps its value",
    factory: async () => {
      const backend = await reference();
      return delegate(backend, {
        createState: async (values, options) => {
          const state = await backend.createState(values, options);
          const write = state.write.bind(state);
          return Object.assign(state, {
            write: (written: Values) =>
              write(Object.fromEntries(Object.entries(written).filter((_, at) => at !== 0))),
          });
        },
      });
    },
    axes: ["ranks"],
    named: ["ranks/halves/sgd", "ranks/overflow-of-one/dynamic-skip", "ranks/stay-equal/float32"],
    consequences: [/^ranks\//],
  },
];
