/** Tables that are too small, names that are cut or sorted, graphs that are too long, arrays returned twice. */
import { type AnyNode, type Backend, type Graph, type Handle, type HostTensor, isNode } from "@mp/graph";
import { reference } from "@mp/graph/reference";
import { delegate } from "../../src/delegate.js";
import { fresh } from "../../src/fresh.js";
import { dataOf, evaluateNode, type HostKernel, oracleWithKernels } from "./kernels.js";
import { running, wrapped } from "./wrapped.js";
import type { WrongBackend } from "./wrong-backend.js";

type Values = Readonly<Record<string, HostTensor>>;

const sameType = (a: HostTensor | undefined, b: HostTensor | undefined): boolean =>
  a !== undefined && b !== undefined && a.dtype === b.dtype && a.shape.join() === b.shape.join();

/** Reads slots by a changed name, so that the first slot of that name and type is found. */
const readingBy = async (nameOf: (name: string, index: number, count: number) => string): Promise<Backend> =>
  wrapped(await reference(), {
    state: (state) => ({
      read: async (names) => {
        const slots = Object.keys(state.types);
        const values = await state.read();
        const keys = new Map<string, string>();
        for (const [index, slot] of slots.entries()) {
          const key = nameOf(slot, index, slots.length);
          if (!keys.has(key)) keys.set(key, slot);
        }
        const found = (slot: string): HostTensor => {
          const own = values[slot] as HostTensor;
          const other = values[keys.get(nameOf(slot, slots.indexOf(slot), slots.length)) as string];
          return fresh(sameType(own, other) ? (other as HostTensor) : own);
        };
        const wanted = Object.keys(await state.read(names));
        return Object.fromEntries(wanted.map((slot) => [slot, found(slot)]));
      },
    }),
  });

/** Returns results by a changed name, so that the first output of that name and type is found. */
const givingBy = (nameOf: (name: string, index: number) => string): Promise<Backend> =>
  running((run) => async (inputs) => {
    const results = await run(inputs);
    const first = new Map<string, HostTensor>();
    return Object.fromEntries(
      Object.entries(results).map(([name, value], index) => {
        const key = nameOf(name, index);
        const known = first.get(key);
        if (known === undefined) first.set(key, value);
        return [name, known !== undefined && sameType(known, value) ? fresh(known) : value];
      }),
    );
  });

/** Exchanges the operands of the first difference after `most` nodes. */
const tooLong = async (most: number): Promise<Backend> => {
  const backend = await reference();
  return delegate(backend, {
    compile: (graph, options) => {
      const at = graph.nodes.findIndex((node, index) => index >= most && node.op === "Sub");
      if (at < 0) return backend.compile(graph, options);
      const nodes = graph.nodes.map(
        (node, index): AnyNode =>
          index === at && isNode(node, "Sub") ? { ...node, inputs: node.inputs.toReversed() } : node,
      );
      const wrong: Graph = { ...graph, nodes };
      return backend.compile(wrong, options);
    },
  });
};

/** Downloads into one array for each value of `keyOf`, which every download fills again. */
const downloadingInto = async (keyOf: (handle: Handle) => unknown): Promise<Backend> => {
  const backend = await reference();
  const arrays = new Map<unknown, HostTensor>();
  return delegate(backend, {
    download: async (handle) => {
      const got = await backend.download(handle);
      const known = arrays.get(keyOf(handle)) ?? got;
      arrays.set(keyOf(handle), known);
      known.data.set(got.data as never);
      return known;
    },
  });
};

/** Commits values of more than `most` elements without their last element. */
const committingStarts = async (most: number): Promise<Backend> =>
  wrapped(await reference(), {
    executable: (executable, { inner, bindings = [] }) => ({
      run: async (inputs) => {
        const slots = bindings.flatMap(({ slot, output }) => (output === undefined ? [] : [slot]));
        const isLarge =
          inner !== undefined && slots.some((slot) => (inner.types[slot]?.shape[0] ?? 0) > most);
        if (!isLarge) return executable.run(inputs);
        const before = await inner.read(slots);
        const results = await executable.run(inputs);
        const after = await inner.read(slots);
        const partly = Object.entries(after).map(([slot, value]): [string, HostTensor] => {
          if (value.data.length > most)
            value.data.set(before[slot]?.data.slice(-1) as never, value.data.length - 1);
          return [slot, value];
        });
        await inner.write(Object.fromEntries(partly));
        return results;
      },
    }),
  });

/** Random bits that repeat after `most` elements. */
const countingTo =
  (most: number): HostKernel<"RandomBits"> =>
  (operands, attributes) =>
    evaluateNode("RandomBits", dataOf(operands), attributes).map((bits) => {
      const data = bits.data as Int32Array;
      return { ...bits, data: data.map((_, at) => data[at % most] as number) } as HostTensor;
    });

const sorted = (values: Values): Values =>
  Object.fromEntries(Object.entries(values).sort(([a], [b]) => (a < b ? -1 : 1)));

const NAME_AXES = ["names", "state", "transfer", "lifecycle", "repeat"];
const SLOTS = "names/slots/are-any-strings";
const OUTPUTS = "names/inputs-and-outputs/are-any-strings";

export const manyFaults: readonly WrongBackend[] = [
  {
    fault: "slots beyond the 256th are the first ones",
    factory: () => readingBy((_, index) => String(index % 256)),
    axes: ["many", "state", "transfer"],
    named: ["many/slots/and-inputs-and-outputs"],
  },
  {
    fault: "results beyond the 128th are the first ones",
    factory: () => givingBy((_, index) => String(index % 128)),
    axes: ["many", "state"],
    named: ["many/slots/and-inputs-and-outputs"],
  },
  ...[4_096, 5_000].map(
    (most): WrongBackend => ({
      fault: `a node after the ${most}th has its operands exchanged`,
      factory: () => tooLong(most),
      axes: ["many", "order"],
      named: ["many/nodes/ten-thousand-in-one-graph"],
    }),
  ),
  ...[32, 64, 255].map(
    (length): WrongBackend => ({
      fault: `names of slots end after ${length} characters`,
      factory: () => readingBy((name) => name.slice(0, length)),
      axes: NAME_AXES,
      named: [SLOTS],
    }),
  ),
  {
    fault: "names of outputs end after 64 characters",
    factory: () => givingBy((name) => name.slice(0, 64)),
    axes: NAME_AXES,
    named: [OUTPUTS],
    consequences: [/^names\/slots\//],
  },
  {
    fault: "names of slots are the same in lower case",
    factory: () => readingBy((name) => name.toLowerCase()),
    axes: NAME_AXES,
    named: [SLOTS],
  },
  {
    fault: "names of outputs are trimmed",
    factory: () => givingBy((name) => name.trim()),
    axes: NAME_AXES,
    named: [OUTPUTS],
    consequences: [/^names\/slots\//],
  },
  {
    fault: "names of slots are normalized",
    factory: () => readingBy((name) => name.normalize("NFC")),
    axes: NAME_AXES,
    named: [SLOTS],
  },
  {
    fault: "slots are read in the order of their names",
    factory: async () =>
      wrapped(await reference(), {
        state: (state) => ({ read: async (names) => sorted(await state.read(names)) }),
      }),
    axes: NAME_AXES,
    named: ["names/order/of-results-and-slots"],
  },
  {
    fault: "results are in the order of their names",
    factory: () => running((run) => async (inputs) => sorted(await run(inputs))),
    axes: NAME_AXES,
    named: ["names/order/of-results-and-slots"],
  },
  {
    fault: "results are assigned by name, so that __proto__ is lost",
    factory: () =>
      running((run) => async (inputs) => {
        const given: Record<string, HostTensor> = {};
        for (const [name, value] of Object.entries(await run(inputs))) given[name] = value;
        return given;
      }),
    axes: NAME_AXES,
    named: [OUTPUTS],
    consequences: [/^names\//],
  },
  {
    fault: "a handle has one array for all downloads",
    factory: () => downloadingInto((handle) => handle),
    axes: ["live-arrays", "aliasing", "transfer", "lifecycle", "order"],
    named: ["f32", "i64", "bool"].map((dtype) => `live-arrays/${dtype}/7-elements`),
    consequences: [/^live-arrays\//, /^transfer\/\w+\/downloads-copy$/],
  },
  {
    fault: "handles of one type have one array for all downloads",
    factory: () => downloadingInto(({ dtype, shape }) => `${dtype} ${shape}`),
    axes: ["live-arrays", "aliasing", "transfer", "lifecycle"],
    named: ["f32", "i64", "bool"].map((dtype) => `live-arrays/${dtype}/7-elements`),
    consequences: [/^live-arrays\//, /^transfer\/\w+\/downloads-copy$/],
  },
  {
    fault: "a commit of more than 16 384 elements leaves the last as it was",
    factory: () => committingStarts(16_384),
    axes: ["large-state", "state"],
    named: ["f32", "i64", "bf16"].map((dtype) => `large-state/${dtype}/of-random-bits`),
    consequences: [/^large-state\//],
  },
  ...[2 ** 16, 2 ** 17].map(
    (most): WrongBackend => ({
      fault: `random bits begin again after ${most}`,
      factory: () => oracleWithKernels({ RandomBits: countingTo(most) }),
      axes: ["random"],
      named: ["random/long/131149-elements", "random/long/1048581-elements"],
      consequences: [/^random\/(long|normal)\//],
    }),
  ),
];
