import type { AnyNode, Graph, Value } from "../graph/graph.js";
import { opTable } from "../graph/op-table.js";
import { byteLength, totalBytes } from "../host/host-tensor.js";

/** The memory that each value of a graph occupies, and the nodes that read that memory. */
export class Storages {
  readonly #roots = new Map<Value, Value>();
  readonly #readers = new Map<Value, AnyNode[]>();
  /** Memory held from the first node to the last: constants, and inputs, which belong to the caller. */
  readonly held: ReadonlySet<Value>;
  /** Memory of outputs, held from the node that makes the output to the end. */
  readonly returned: ReadonlySet<Value>;

  /** @param successors maps a value to the earlier value whose memory it takes; see `findReuse` */
  constructor(graph: Graph, successors: ReadonlyMap<Value, Value> = new Map()) {
    const held = new Set<Value>(graph.inputs.map((input) => input.value));
    for (const node of graph.nodes) {
      const [first] = node.inputs;
      if (opTable[node.op].moves === "view" && first !== undefined) {
        for (const output of node.outputs) this.#roots.set(output, this.root(first));
      }
      for (const output of node.outputs) {
        const earlier = successors.get(output);
        if (earlier !== undefined) this.#roots.set(output, this.root(earlier));
      }
      if (node.op === "Constant") for (const output of node.outputs) held.add(output);
      for (const root of new Set(node.inputs.map((input) => this.root(input)))) {
        const readers = this.#readers.get(root);
        if (readers === undefined) this.#readers.set(root, [node]);
        else readers.push(node);
      }
    }
    this.held = held;
    this.returned = new Set(graph.outputs.map(({ value }) => this.root(value)));
  }

  /** The value whose memory a value occupies. */
  root(value: Value): Value {
    return this.#roots.get(value) ?? value;
  }

  /** Nodes that read the memory of a root, in graph order, each once. */
  readers(root: Value): readonly AnyNode[] {
    return this.#readers.get(root) ?? [];
  }

  /** The results of a node that take new memory. */
  allocations(node: AnyNode): readonly Value[] {
    return node.outputs.filter((output) => this.root(output) === output && !this.held.has(output));
  }
}

/** Peak memory of one step of a scan, without its invariants. */
function bodyBytes(node: AnyNode, workspace: (node: AnyNode) => number): number {
  if (node.op !== "Scan") return 0;
  const { body, carries } = node.attributes;
  const invariants = body.inputs.slice(carries + node.attributes.sequences);
  return peakLiveBytes(body, { workspace }).bytes - totalBytes(invariants.map(({ value }) => value));
}

/** The most memory that is in use at once, and the node where that is. */
export interface Peak {
  readonly bytes: number;
  /** The node that runs at the peak; undefined for a graph without nodes. */
  readonly node: AnyNode | undefined;
}

export interface LivenessOptions {
  /** Whether the outputs' memory is held from the start, like that of the next state; default false. */
  readonly outputsHeld?: boolean;
  /** Bytes that a node takes while it runs, besides its operands and results; default none. */
  readonly workspace?: (node: AnyNode) => number;
  /** Whether a value that is no longer read keeps its memory for a later value of its shape; default false. */
  readonly reusesShapes?: boolean;
  /** The storages of the graph, if they are known; they hold for any order of its nodes. */
  readonly storages?: Storages;
}

/**
 * Maps a value to the earlier value whose memory it takes. Of the free values with its shape and byte size, this is the
 * last to become free. The memory of a chain of such values is held from the first value to the last reader of the last
 * value, even while none of the values is alive.
 */
function findReuse(graph: Graph): ReadonlyMap<Value, Value> {
  const storages = new Storages(graph);
  const successors = new Map<Value, Value>();
  const free = new Map<string, Value[]>();
  const isOwn = (root: Value): boolean => !storages.held.has(root) && !storages.returned.has(root);
  for (const node of graph.nodes) {
    for (const output of storages.allocations(node).filter(isOwn)) {
      const earlier = free.get(memoryKind(output))?.pop();
      if (earlier !== undefined) successors.set(output, earlier);
    }
    for (const root of new Set(node.inputs.map((input) => storages.root(input)))) {
      if (storages.readers(root).at(-1) !== node || !isOwn(root)) continue;
      const kind = memoryKind(root);
      free.set(kind, [...(free.get(kind) ?? []), root]);
    }
  }
  return successors;
}

const memoryKind = (value: Value): string => `${value.shape.join()} ${byteLength(value)}`;

/**
 * Peak of live bytes when the nodes run in order. Inputs and constants count from start to end, outputs from
 * their node to the end, every other value from its node to its last reader; a node's operands and results are
 * alive together (an engine that computes in place needs less). Reshape, Squeeze, Unsqueeze, Identity and
 * Barrier take no memory of their own.
 */
export function peakLiveBytes(
  graph: Graph,
  {
    outputsHeld = false,
    workspace = () => 0,
    reusesShapes = false,
    storages = new Storages(graph, reusesShapes ? findReuse(graph) : undefined),
  }: LivenessOptions = {},
): Peak {
  const held = outputsHeld ? new Set([...storages.held, ...storages.returned]) : storages.held;
  const left = new Map<Value, number>();
  let live = 0;
  for (const value of held) live += byteLength(value);
  let peak: Peak = { bytes: live, node: undefined };
  const release = (root: Value): void => {
    if (!held.has(root) && !storages.returned.has(root)) live -= byteLength(root);
  };
  for (const node of graph.nodes) {
    const made = storages.allocations(node).filter((output) => !held.has(output));
    for (const output of made) live += byteLength(output);
    const bytes = live + workspace(node) + bodyBytes(node, workspace);
    if (bytes > peak.bytes || peak.node === undefined) peak = { bytes, node };
    for (const root of new Set(node.inputs.map((input) => storages.root(input)))) {
      const rest = (left.get(root) ?? storages.readers(root).length) - 1;
      left.set(root, rest);
      if (rest === 0) release(root);
    }
    for (const output of made) if (storages.readers(output).length === 0) release(output);
  }
  return peak;
}
