import type { Executable, HostTensor, State } from "@mp/graph";
import { reference } from "@mp/graph/reference";
import { delegate } from "../../src/delegate.js";
import type { WrongBackend } from "./wrong-backend.js";

type Values = Readonly<Record<string, HostTensor>>;

/** A backend that folds constant states when it compiles, with `valuesOf` applied to their values. */
const folding = (valuesOf: (own: Values) => Values) => async () => {
  const backend = await reference();
  const constant = new Map<State, Values>();
  return delegate(backend, {
    createState: async (values, options) => {
      const state = await backend.createState(values, options);
      if (options?.constant === true) constant.set(state, valuesOf(values));
      return state;
    },
    compile: async (graph, options = {}) => {
      const held = options.state && constant.get(options.state);
      const executable = await backend.compile(graph, options);
      if (held === undefined) return executable;
      const fixed = new Map(options.bindings?.map(({ input, slot }) => [input, held[slot] as HostTensor]));
      const alone = await backend.compile(graph);
      const folded: Executable = {
        warnings: executable.warnings,
        run: (inputs) => alone.run({ ...Object.fromEntries(fixed), ...inputs }),
        dispose: async () => {
          await alone.dispose();
          await executable.dispose();
        },
      };
      return folded;
    },
  });
};

export const constantFaults: readonly WrongBackend[] = [
  {
    fault: "the constants of one state are folded into the programs of another",
    factory: () => {
      let first: Values | undefined;
      return folding((own) => (first ??= own))();
    },
    axes: ["constant"],
    named: ["constant/weights/belong-to-their-state"],
    // Those of whichever state came first.
    consequences: [/^constant\/weights\//],
  },
  {
    fault: "what a normalization subtracts is lost when it is folded",
    factory: folding((own) => ({
      ...own,
      ...(own["mean"] === undefined ? {} : { mean: zeros(own["mean"]) }),
    })),
    axes: ["constant"],
    named: [
      "constant/weights/are-copied-from-the-callers-arrays",
      "constant/weights/are-folded-exactly",
      "constant/weights/belong-to-their-state",
      "constant/weights/serve-several-shapes",
    ],
  },
  {
    fault: "the program of another shape takes its constants along when it is disposed",
    factory: async () => {
      const backend = await folding((own) => own)();
      let isGone = false;
      return delegate(backend, {
        createState: (values, options) => {
          isGone = false;
          return backend.createState(values, options);
        },
        compile: async (graph, options) => {
          const executable = await backend.compile(graph, options);
          return {
            warnings: executable.warnings,
            run: async (inputs) => {
              const results = await executable.run(inputs);
              return isGone
                ? Object.fromEntries(Object.entries(results).map(([name, value]) => [name, zeros(value)]))
                : results;
            },
            dispose: async () => {
              isGone = true;
              await executable.dispose();
            },
          };
        },
      });
    },
    axes: ["constant"],
    named: ["constant/weights/are-copied-from-the-callers-arrays", "constant/weights/serve-several-shapes"],
    consequences: [/^constant\/weights\/belong-to-their-state$/],
  },
  {
    fault: "a constant state is one like any other",
    factory: async () => {
      const backend = await reference();
      return delegate(backend, { createState: (values) => backend.createState(values) });
    },
    axes: ["constant"],
    named: ["constant/state/is-not-written"],
  },
  {
    fault: "a binding that commits when applied replaces a constant",
    factory: async () => {
      const backend = await reference();
      return delegate(backend, {
        compile: (graph, options = {}) => {
          const bindings = options.bindings?.filter(({ commit }) => commit !== "when-applied") ?? [];
          return backend.compile(graph, { ...options, bindings });
        },
      });
    },
    axes: ["constant"],
    named: ["constant/state/is-not-written"],
  },
];

function zeros(value: HostTensor): HostTensor {
  return { ...value, data: value.data.slice().fill(0 as never) } as HostTensor;
}
