/** Engines that cache compiled programs under an incomplete key. */
import { type AnyNode, type Backend, type Graph, type HostTensor, isNode, type State } from "@mp/graph";
import { reference } from "@mp/graph/reference";
import { delegate } from "../../src/delegate.js";
import type { WrongBackend } from "./wrong-backend.js";

type KeyOfPart = (value: unknown, key: string) => unknown;

const bytesOf = ({ data }: HostTensor): string =>
  new Uint8Array(data.buffer, data.byteOffset, data.byteLength).join();

/** A text that differs for different graphs, except for parts that `part` changes. */
function textOf(
  graph: Graph,
  part: KeyOfPart,
  nodeText: (node: AnyNode, text: string, at: number) => string,
): string {
  const plain = (key: string, value: unknown): unknown => {
    const changed = part(value, key);
    if (changed !== value) return changed;
    if (typeof value === "bigint") return `${value}n`;
    if (typeof value === "number" && (!Number.isFinite(value) || Object.is(value, -0)))
      return Object.is(value, -0) ? "-0" : String(value);
    if (typeof value !== "object" || value === null) return value;
    if ("nodes" in value) return textOf(value as Graph, part, nodeText);
    return "data" in value ? ["tensor", (value as HostTensor).dtype, bytesOf(value as HostTensor)] : value;
  };
  const type = ({ id, dtype, shape }: Graph["outputs"][number]["value"]) => [id, dtype, shape];
  const nodes = graph.nodes.map((node, at) => {
    const text = JSON.stringify(
      [node.op, node.inputs.map(type), node.outputs.map(type), node.attributes],
      plain,
    );
    return nodeText(node, text, at);
  });
  const named = (list: Graph["outputs"]) => list.map(({ name, value }) => [name, type(value)]);
  return JSON.stringify([named(graph.inputs), nodes, named(graph.outputs)], plain);
}

/** Takes the first graph of a key for all others. */
const keeping = async (
  part: KeyOfPart = (value) => value,
  nodeText: (node: AnyNode, text: string, at: number) => string = (_, text) => text,
): Promise<Backend> => {
  const backend = await reference();
  const known = new Map<string, Graph>();
  return delegate(backend, {
    compile: (graph, options) => {
      const key = textOf(graph, part, nodeText);
      const first = known.get(key) ?? graph;
      known.set(key, first);
      return backend.compile(first, options);
    },
  });
};

/** Uses the flag of a graph object's first program for all later ones. */
const keepingFlag = async (): Promise<Backend> => {
  const backend = await reference();
  const known = new WeakMap<Graph, string>();
  return delegate(backend, {
    compile: (graph, options = {}) => {
      const isFlag = graph.outputs.some(
        ({ name, value }) => name === options.applied && value.dtype === "bool",
      );
      if (options.applied === undefined || !isFlag) return backend.compile(graph, options);
      const first = known.get(graph) ?? options.applied;
      known.set(graph, first);
      return backend.compile(graph, { ...options, applied: first });
    },
  });
};

/** Folds the values of a constant state into a program, which then serves later constant states, too. */
const foldingOnce = async (): Promise<Backend> => {
  const backend = await reference();
  const constants = new WeakSet<State>();
  const folded = new Map<string, State>();
  return delegate(backend, {
    createState: async (values, options) => {
      const state = await backend.createState(values, options);
      if (options?.constant === true) constants.add(state);
      return state;
    },
    compile: async (graph, options = {}) => {
      const { state, bindings = [] } = options;
      if (state === undefined || !constants.has(state)) return backend.compile(graph, options);
      const key = JSON.stringify([
        textOf(
          graph,
          (value) => value,
          (_, text) => text,
        ),
        bindings,
      ]);
      // Slots of which the first element is the same.
      const values = await state.read();
      const place = `${key} ${Object.values(values).map(({ data }) => data[0])}`;
      const first = folded.get(place) ?? state;
      folded.set(place, first);
      return backend.compile(graph, {
        ...options,
        state: await first.read().then(
          () => first,
          () => state,
        ),
      });
    },
  });
};

const isTensor = (value: unknown): value is HostTensor =>
  typeof value === "object" && value !== null && "data" in value && ArrayBuffer.isView(value.data);

const AXES = ["program", "rewrite", "random", "state", "repeat", "constant"];

/** Leaves one attribute of an op out of the key. */
const withoutAttribute = (op: string, name: string): Promise<Backend> =>
  keeping(undefined, (node, text) => {
    if (node.op !== op) return text;
    const attributes = { ...node.attributes, [name]: 0 };
    const types = [...node.inputs, ...node.outputs].map(({ id, dtype, shape }) => [id, dtype, shape]);
    return JSON.stringify([op, attributes, types], (_, part: unknown) =>
      typeof part === "bigint" ? `${part}` : part,
    );
  });

const ATTRIBUTES = [
  ["Elu", "alpha"], ["Gelu", "approximate"], ["CumSum", "exclusive"], ["TopK", "largest"], ["Pad", "mode"],
  ["Softmax", "axis"], ["LayerNormalization", "epsilon"], ["Attention", "isCausal"], ["AveragePool", "countIncludePad"],
  ["ScatterElements", "reduction"], ["Gemm", "transB"], ["Slice", "starts"], ["Range", "start"], ["Scan", "reverse"],
] as const; // biome-ignore format: pairs

export const programFaults: readonly WrongBackend[] = [
  ...ATTRIBUTES.map(
    ([op, name]): WrongBackend => ({
      fault: `a kept program of ${op} is found by all but its ${name}`,
      factory: () => withoutAttribute(op, name),
      axes: AXES,
      among: new RegExp(`^(?!program/)|^program/${op}/`),
      named: [`program/${op}/differs-in-one-attribute`],
    }),
  ),
  {
    fault: "lists are written without a comma in the key of a program",
    factory: () =>
      keeping((value) =>
        Array.isArray(value) && value.every((part) => typeof part === "number") ? value.join("") : value,
      ),
    axes: AXES,
    named: ["program/Tile/differs-in-one-attribute"],
    consequences: [/^program\//],
  },
  {
    fault: "random keys are 32 bits in the key of a program",
    factory: () => keeping((value) => (typeof value === "bigint" ? `${value & 0xffffffffn}` : value)),
    axes: AXES,
    named: ["program/RandomBits/differs-in-one-attribute"],
  },
  {
    fault: "large constants are known by their ends",
    factory: () =>
      keeping((value) =>
        isTensor(value) && value.data.byteLength > 4096
          ? [
              "ends",
              value.dtype,
              value.shape,
              bytesOf({ ...value, data: value.data.slice(0, 64) } as HostTensor),
              bytesOf({ ...value, data: value.data.slice(-64) } as HostTensor),
            ]
          : value,
      ),
    axes: AXES,
    named: [4200, 66000].map((length) => `program/constant-f32/one-of-${length}-elements`),
    consequences: [/^program\/constant-\w+\/one-of-(4200|66000)-elements$/],
  },
  {
    fault: "constants are known by the sum of their bytes",
    factory: () =>
      keeping((value) =>
        isTensor(value)
          ? [
              "sum",
              value.dtype,
              value.shape,
              new Uint8Array(value.data.buffer).reduce((sum, byte) => sum + byte, 0),
            ]
          : value,
      ),
    axes: ["program"],
    named: ["program/constant-f32/one-of-5-elements", "program/constant-i64/one-of-4200-elements"],
    consequences: [/^program\//],
  },
  {
    fault: "nodes after the 32nd are known by their operator",
    factory: () => keeping(undefined, (node, text, at) => (at < 32 ? text : node.op)),
    axes: AXES,
    named: ["program/operator/one-of-many-differs"],
  },
  {
    fault: "a difference is known by its operands in any order",
    factory: () =>
      keeping(undefined, (node, text) =>
        node.op === "Sub"
          ? JSON.stringify(["Sub", node.inputs.map(({ id }) => id).sort(), node.outputs.map(({ id }) => id)])
          : text,
      ),
    axes: AXES,
    named: ["program/operand/order-and-choice", "program/operator/one-of-many-differs"],
    consequences: [/^program\//],
  },
  {
    fault: "a loop is known by the number of nodes of its body",
    factory: () =>
      keeping(undefined, (node, text) =>
        isNode(node, "Scan")
          ? JSON.stringify([
              "Scan",
              node.attributes.body.nodes.length,
              node.attributes.length,
              node.attributes.reverse,
              node.inputs.map(({ shape }) => shape),
            ])
          : text,
      ),
    axes: ["program"],
    named: ["program/loop/of-another-body"],
    consequences: [/^program\/Scan\//],
  },
  {
    fault: "the flag of the first program of a graph decides for all",
    factory: keepingFlag,
    axes: AXES,
    named: ["program/bindings/of-one-graph"],
  },
  {
    fault: "the weights of a constant state stay in the program that is kept",
    factory: foldingOnce,
    axes: AXES,
    named: ["program/bindings/of-one-graph"],
  },
];
