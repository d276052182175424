/** Arrays with two owners, in engines that omit a necessary copy. */
import {
  type AnyNode,
  type Backend,
  type HostTensor,
  isNode,
  type RunInput,
  type State,
  type Value,
} from "@mp/graph";
import { reference } from "@mp/graph/reference";
import { refill } from "../../src/held-data.js";
import { evaluateNode } from "./kernels.js";
import { rewriting } from "./rewrite-faults.js";
import { type Compiled, isTensor, running, wrapped } from "./wrapped.js";
import type { WrongBackend } from "./wrong-backend.js";

type Values = Readonly<Record<string, HostTensor>>;

/** Outputs that are an input which no binding feeds, with the name of the input. */
function passedThrough({
  graph,
  bindings = [],
}: Compiled): readonly (readonly [output: string, input: string])[] {
  return graph.outputs.flatMap(({ name, value }) =>
    graph.inputs
      .filter((input) => input.value === value && bindings.every((binding) => binding.input !== input.name))
      .map((input) => [name, input.name] as const),
  );
}

/** Returns results that are inputs as the caller's own tensors. */
const givesInputsBack = (): Promise<Backend> =>
  running((run, compiled) => async (inputs) => {
    const results = { ...(await run(inputs)) };
    for (const [output, input] of passedThrough(compiled)) {
      const fed = inputs[input];
      if (isTensor(fed) && output in results) results[output] = { ...fed };
    }
    return results;
  });

/** Returns a value that has two names as one array. */
const givesOneArrayTwice = (): Promise<Backend> =>
  running((run, { graph }) => async (inputs) => {
    const results = await run(inputs);
    const arrays = new Map<unknown, HostTensor>();
    for (const { name, value } of graph.outputs) {
      const result = results[name];
      if (result !== undefined && !arrays.has(value)) arrays.set(value, result);
    }
    const first = (name: string): HostTensor =>
      arrays.get(graph.outputs.find((output) => output.name === name)?.value) as HostTensor;
    return Object.fromEntries(Object.keys(results).map((name) => [name, first(name)]));
  });

/** Puts large results into an arena to which all executables without a state write in turn. */
function givesArena(): Promise<Backend> {
  const arena = new Map<string, HostTensor>();
  let turns = 0;
  return running((run, { inner }) => async (inputs) => {
    const results = await run(inputs);
    if (inner !== undefined) return results;
    turns++;
    return Object.fromEntries(
      Object.entries(results).map(([name, result]) => {
        if (result.data.length < 1000) return [name, result];
        const key = `${name} ${result.dtype} ${result.shape.join()} ${turns % 2}`;
        const buffer = arena.get(key) ?? result;
        arena.set(key, buffer);
        if (buffer !== result) refill(buffer, result);
        return [name, buffer];
      }),
    );
  });
}

/** Computes the negation of a batch in place, in the array that was fed. */
const worksInTheCallersArray = (): Promise<Backend> =>
  running((run, { graph }) => async (inputs) => {
    const results = await run(inputs);
    for (const node of graph.nodes) {
      if (!isNode(node, "Neg")) continue;
      const input = graph.inputs.find(({ value }) => value === node.inputs[0]);
      const fed = input === undefined ? undefined : inputs[input.name];
      if (!isTensor(fed)) continue;
      const [result] = evaluateNode("Neg", [fed], {});
      if (result !== undefined) refill(fed, result);
    }
    return results;
  });

/** The current contents of slots, apart from the oracle's own copies. */
class Live {
  readonly tensors = new Map<string, HostTensor>();
  #writes = 0;

  /** Writes the current contents of the arrays to the oracle's state. */
  push(state: State): void {
    if (this.tensors.size > 0) void state.write(Object.fromEntries(this.tensors));
  }

  forget(names: readonly string[]): void {
    this.#writes++;
    for (const name of names) this.tensors.delete(name);
  }

  /** Returns a function that keeps a tensor unless the slots have been written in the meantime. */
  keeping(): (name: string, tensor: HostTensor) => void {
    const writes = this.#writes;
    return (name, tensor) => void (writes === this.#writes && this.tensors.set(name, tensor));
  }
}

/**
 * The oracle, except that tensors that `kept` returns are live views of a slot until the slot is written or replaced.
 */
async function withLiveSlots(
  kept: (compiled: Compiled, inputs: Readonly<Record<string, RunInput>>, results: Values) => Values,
): Promise<Backend> {
  const lives = new WeakMap<State, Live>();
  return wrapped(await reference(), {
    state: (state) => {
      const live = new Live();
      lives.set(state, live);
      return {
        read: (names) => {
          live.push(state);
          return state.read(names);
        },
        write: (values) => {
          const writing = state.write(values);
          live.forget(Object.keys(values));
          return writing;
        },
      };
    },
    executable: (executable, compiled) => {
      const { inner, bindings = [] } = compiled;
      const live = inner === undefined ? undefined : lives.get(inner);
      if (inner === undefined || live === undefined) return {};
      return {
        run: async (inputs) => {
          live.push(inner);
          const keep = live.keeping();
          const results = await executable.run(inputs);
          for (const { slot, output } of bindings) if (output !== undefined) live.tensors.delete(slot);
          for (const [slot, tensor] of Object.entries(kept(compiled, inputs, results))) keep(slot, tensor);
          return results;
        },
      };
    },
  });
}

/** A slot that an input replaces keeps the array that was fed. */
const slotsHoldWhatWasFed = (): Promise<Backend> =>
  withLiveSlots((compiled, inputs) => {
    const through = new Map(passedThrough(compiled));
    const held = (compiled.bindings ?? []).flatMap(({ slot, output = "", commit }) => {
      const fed = inputs[through.get(output) ?? ""];
      return commit !== "when-applied" && isTensor(fed) ? [[slot, fed] as const] : [];
    });
    return Object.fromEntries(held);
  });

/** A result that is the value of an unchanged slot shares the slot's memory. */
const givesSlotsAway = (): Promise<Backend> =>
  withLiveSlots(({ graph, bindings = [] }, _, results) => {
    const given = bindings.flatMap(({ slot, input, output }) => {
      const value = graph.inputs.find(({ name }) => name === input)?.value;
      const result = results[graph.outputs.find((each) => each.value === value)?.name ?? ""];
      return output === undefined && result !== undefined ? [[slot, result] as const] : [];
    });
    return Object.fromEntries(given);
  });

/** Large slots are read without a copy, and later commits write to the same memory. */
async function commitsInPlace(): Promise<Backend> {
  const given = new WeakMap<State, Map<string, HostTensor>>();
  /** Writes the slot's current contents into the array that its first read returned. */
  const inOneArray = (buffers: Map<string, HostTensor>, values: Values): Values =>
    Object.fromEntries(
      Object.entries(values).map(([name, value]) => {
        if (value.data.length < 1000) return [name, value];
        const buffer = buffers.get(name) ?? value;
        buffers.set(name, buffer);
        if (buffer !== value) refill(buffer, value);
        return [name, buffer];
      }),
    );
  return wrapped(await reference(), {
    state: (state) => {
      const buffers = new Map<string, HostTensor>();
      given.set(state, buffers);
      return { read: async (names) => inOneArray(buffers, await state.read(names)) };
    },
    executable: (executable, { inner }) => ({
      run: async (inputs) => {
        const results = await executable.run(inputs);
        const buffers = inner === undefined ? undefined : given.get(inner);
        if (inner !== undefined && buffers !== undefined)
          inOneArray(buffers, await inner.read([...buffers.keys()]));
        return results;
      },
    }),
  });
}

const NUMBERS = ["f32", "i32", "u8"] as const;

/** Computes a softplus in its operand's array, which views of the operand read, too. */
const worksUnderAView = (): Promise<Backend> =>
  rewriting((graph) => {
    const views = new Map<Value, AnyNode[]>();
    const changed = new Map<Value, Value>();
    const nodes = graph.nodes.flatMap((node, at): AnyNode[] => {
      const read = { ...node, inputs: node.inputs.map((x) => changed.get(x) ?? x) } as AnyNode;
      const [x] = node.inputs;
      const [result] = node.outputs;
      if (x === undefined || result === undefined) return [read];
      if (node.op === "Reshape") views.set(x, [...(views.get(x) ?? []), node]);
      if (node.op !== "Softplus") return [read];
      const again = (views.get(x) ?? []).map((view, place): AnyNode => {
        const value = { ...(view.outputs[0] as Value), id: -1 - at - place / 64 };
        changed.set(view.outputs[0] as Value, value);
        return { ...view, name: `${view.name}.again${at}`, inputs: [result], outputs: [value] } as AnyNode;
      });
      return [read, ...again];
    });
    return { ...graph, nodes };
  });

export const aliasingFaults: readonly WrongBackend[] = [
  {
    fault: "a result that is an input is the caller's own array",
    factory: givesInputsBack,
    axes: ["aliasing", "lifecycle", "state"],
    named: NUMBERS.map((dtype) => `aliasing/${dtype}/results-belong-to-the-caller`),
    consequences: [/^aliasing\/\w+\/(results-belong-to-the-caller|states-are-nobodys-view)$/],
    message: /after the arrays that were fed were written to|was written to/,
  },
  {
    fault: "one value under two names is one array",
    factory: givesOneArrayTwice,
    axes: ["aliasing", "lifecycle", "state"],
    named: NUMBERS.map((dtype) => `aliasing/${dtype}/results-belong-to-the-caller`),
    consequences: [/^aliasing\/\w+\/results-belong-to-the-caller$/],
    message: /^again of .* after the result passed was written to/,
  },
  {
    fault:
      "results of a thousand elements and more, where there is no state, lie in an arena that later runs write to",
    factory: givesArena,
    axes: ["aliasing", "lifecycle", "state"],
    named: NUMBERS.map((dtype) => `aliasing/${dtype}/results-belong-to-the-caller`),
    consequences: [/^aliasing\/\w+\/results-belong-to-the-caller$/],
    message: /of 1031, after later runs/,
  },
  {
    fault: "a result that is a slot's value is the slot's memory",
    factory: givesSlotsAway,
    axes: ["aliasing", "state"],
    named: NUMBERS.map((dtype) => `aliasing/${dtype}/states-are-nobodys-view`),
    consequences: [/^aliasing\/\w+\/states-are-nobodys-view$/],
    message: /^beside, after what was fed, given and read was written to/,
  },
  {
    fault: "a slot that takes what was fed holds the caller's array",
    factory: slotsHoldWhatWasFed,
    axes: ["aliasing", "state"],
    named: NUMBERS.map((dtype) => `aliasing/${dtype}/states-are-nobodys-view`),
    consequences: [/^aliasing\/\w+\/(states-are-nobodys-view|one-array-in-two-slots-is-two-values)$/],
    message: /^kept, after what was fed, given and read was written to/,
  },
  {
    fault: "what was read of a slot of a thousand elements and more is written to by later commits",
    factory: commitsInPlace,
    axes: ["aliasing", "state", "transfer", "lifecycle"],
    named: NUMBERS.map((dtype) => `aliasing/${dtype}/states-are-nobodys-view`),
    consequences: [/^aliasing\/\w+\/states-are-nobodys-view$/, /^transfer\//],
    message: /what was read of kept before a commit, after it|whose copy has changed|written/,
  },
  {
    fault: "an operator works in the array that was fed",
    factory: worksInTheCallersArray,
    axes: ["aliasing", "op"],
    among: /^aliasing\/chains|^op\/Neg-/,
    named: ["aliasing/chains/work-in-nobodys-array", "op/Neg-f32/values"],
    consequences: [/^op\/Neg-/],
    message: /an array of the caller's, was written to|worked in the caller's array/,
  },
  {
    fault: "an operator works in an array of which a view is read later",
    factory: worksUnderAView,
    axes: ["aliasing"],
    among: /^aliasing\/chains/,
    named: ["aliasing/chains/work-in-nobodys-array"],
  },
];
