/**
 * The order in which a graph runs. Engines must follow it, since the order decides how much memory a step takes. The
 * forward pass stays in order, and so do the matrix products, except under the third rule. Four rules move nodes:
 * - a cheap node whose result is no smaller than the memory that running it would free (`1 - y·y`, a Transpose, β·m)
 *   waits until a node that reads it is about to run;
 * - nodes that follow from gradients (casts to f32, the optimizer) run as soon as a group of them that frees more than
 *   it leaves behind can run as a whole: a parameter is updated right after its gradient is complete;
 * - when all remaining readers of a value can run, and their results take less memory than the value, they run: a saved
 *   activation ends as a mask and a weight gradient before the gradient of its layer's input is computed;
 * - everything else keeps the given order, in which gradients come in reverse order of the forward pass.
 */
import type { Op } from "../graph/attributes.js";
import { FAMILIES, PRODUCT_OPS } from "../graph/families.js";
import type { AnyNode, Graph, Value } from "../graph/graph.js";
import { byteLength, totalBytes } from "../host/host-tensor.js";
import { peakLiveBytes, Storages } from "./liveness.js";

/** Ops that keep their position, where caches hold their operands and readers of profiles expect them. */
const ANCHORED: ReadonlySet<Op> = new Set<Op>([...PRODUCT_OPS, ...FAMILIES.attention]);

/** Sizes up to this many bytes are ignored: scalars, counters, rates. */
const NEGLIGIBLE = 4096;

/** Puts the nodes into an order of low peak memory; returns the graph itself if that order has a higher peak. */
export const scheduleGraph = (graph: Graph): Graph => scheduleWithPeak(graph).graph;

interface Scheduled {
  readonly graph: Graph;
  readonly peakBytes: number;
}

/** Known schedules by graph. Fusions compare the peaks of several graphs, and one of these graphs becomes the step. */
const known = new WeakMap<Graph, Scheduled>();

/** The graph as `scheduleGraph` orders it, and its peak of live bytes with the outputs held from the start. */
export function scheduleWithPeak(graph: Graph): Scheduled {
  const scheduled = known.get(graph) ?? schedule(graph);
  known.set(graph, scheduled);
  return scheduled;
}

function schedule(graph: Graph): Scheduled {
  const scheduling = new Scheduling(graph);
  const { storages } = scheduling;
  const scheduled: Graph = Object.freeze({ ...graph, nodes: Object.freeze(scheduling.run()) });
  const peak = (order: Graph): number => peakLiveBytes(order, { outputsHeld: true, storages }).bytes;
  const [after, before] = [peak(scheduled), peak(graph)];
  return after <= before ? { graph: scheduled, peakBytes: after } : { graph, peakBytes: before };
}

/** Memory of one root, and its readers in graph order. */
interface Memory {
  readonly root: Value;
  /** Bytes that end with the last reader; 0 for memory that is held or returned. */
  readonly bytes: number;
  readonly readers: Planned[];
  /** Number of readers that have not been scheduled. */
  left: number;
}

/** A node with its neighbors, and facts about its position in the order. */
interface Planned {
  readonly node: AnyNode;
  readonly position: number;
  /** The memories that the node reads, each once. */
  readonly memories: readonly Memory[];
  /** Bytes of new memory that do not last to the end. */
  readonly allocated: number;
  readonly producers: ReadonlySet<Planned>;
  /** Readers of the node's results, result by result. */
  readonly readers: Planned[];
  /** True for a node outside the backward pass that depends on gradients. */
  isEager?: true;
  /** For a node that waits for a reader: the reader's `waitsUntil`, or its position if it does not wait. */
  waitsUntil?: number;
  isScheduled?: true;
  /** An unscheduled node that has to run first, found by the last search. */
  blocker?: Planned;
}

const isDelayed = ({ waitsUntil }: Planned): boolean => waitsUntil !== undefined;
const placeOf = ({ waitsUntil, position }: Planned): number => waitsUntil ?? position;
const inOrder = (nodes: Iterable<Planned>): readonly Planned[] =>
  [...nodes].sort((a, b) => a.position - b.position);

/** Whether all nodes that a node needs have been scheduled, constants aside. */
const canRun = ({ producers }: Planned): boolean =>
  [...producers].every(({ isScheduled, node }) => isScheduled || node.inputs.length === 0);

class Scheduling {
  readonly storages: Storages;
  readonly #returned: ReadonlySet<Value>;
  readonly #nodes: readonly Planned[];
  /** Values widened from held memory, such as 8-bit optimizer state. Delaying their nodes keeps nothing alive. */
  readonly #decoded = new Set<Value>();
  readonly #order: Planned[] = [];

  constructor(graph: Graph) {
    this.storages = new Storages(graph);
    this.#returned = new Set(graph.outputs.map(({ value }) => value));
    this.#nodes = this.#plan(graph);
    this.#classify();
  }

  run(): readonly AnyNode[] {
    for (const node of this.#nodes) {
      if (isDelayed(node) || node.isScheduled) continue;
      const from = this.#order.length;
      for (const operand of this.#missing(node).toReversed()) this.#schedule(operand);
      this.#runLastReaders(this.#order.slice(from));
      this.#schedule(node);
      this.#runEager(this.#order.slice(from));
      this.#runLastReaders(this.#order.slice(from));
    }
    for (const node of this.#nodes) this.#schedule(node);
    return this.#order.map(({ node }) => node);
  }

  #plan({ nodes }: Graph): readonly Planned[] {
    const makers = new Map<Value, Planned>();
    const memories = new Map<Value, Memory>();
    const bytesOf = (root: Value): number =>
      this.storages.held.has(root) || this.storages.returned.has(root) ? 0 : byteLength(root);
    const memoryOf = (input: Value): Memory => {
      const root = this.storages.root(input);
      const memory = memories.get(root) ?? { root, bytes: bytesOf(root), readers: [], left: 0 };
      memories.set(root, memory);
      return memory;
    };
    const readers = new Map<Value, Planned[]>();
    const all = nodes.map((node, position): Planned => {
      const inputs = new Set(node.inputs);
      const planned: Planned = {
        node,
        position,
        memories: [...new Set([...inputs].map(memoryOf))],
        allocated: this.storages.allocations(node).reduce((sum, output) => sum + bytesOf(output), 0),
        producers: new Set([...inputs].flatMap((input) => makers.get(input) ?? [])),
        readers: [],
      };
      for (const output of node.outputs) {
        makers.set(output, planned);
        readers.set(output, []);
      }
      for (const input of inputs) readers.get(input)?.push(planned);
      for (const memory of planned.memories) memory.left = memory.readers.push(planned);
      return planned;
    });
    for (const { node, readers: own } of all)
      for (const output of node.outputs) for (const reader of readers.get(output) ?? []) own.push(reader);
    return all;
  }

  /** Decides which nodes are eager (in graph order), then which are delayed (in reverse order). */
  #classify(): void {
    const afterGradient = new Set<Planned>();
    const movable: Planned[] = [];
    for (const planned of this.#nodes) {
      const { node, producers } = planned;
      // A literal that the backward pass made first may be read by other phases.
      const isBackward = node.origin.phase === "backward" && node.inputs.length > 0;
      const follows = [...producers].some((producer) => afterGradient.has(producer));
      if (isBackward || follows) afterGradient.add(planned);
      if (!isBackward && follows) planned.isEager = true;
      const isForward = !isBackward && !follows && node.origin.phase !== "update";
      if (ANCHORED.has(node.op)) continue;
      const isDecoded = !isBackward && this.#decodes(node);
      if (isDecoded) for (const output of node.outputs) this.#decoded.add(output);
      if (!isForward || isDecoded || node.inputs.length === 0) movable.push(planned);
    }
    for (const planned of movable.reverse()) {
      const until = this.#firstRead(planned);
      if (until !== undefined && this.#mayWait(planned, until)) planned.waitsUntil = until;
    }
  }

  /** Whether the node widens held memory, or reads only the results of such nodes and held memory. */
  #decodes({ op, inputs, outputs }: AnyNode): boolean {
    const isDecoded = (input: Value): boolean => this.#decoded.has(input);
    const isHeld = (input: Value): boolean => this.storages.held.has(this.storages.root(input));
    const widens = op === "Cast" && totalBytes(outputs) > totalBytes(inputs);
    return (widens || inputs.some(isDecoded)) && inputs.every((input) => isDecoded(input) || isHeld(input));
  }

  /** Position of the first read of a node's results, with delays; undefined if some are returned or none is read. */
  #firstRead({ node, readers }: Planned): number | undefined {
    if (readers.length === 0 || node.outputs.some((output) => this.#returned.has(output))) return undefined;
    return readers.reduce((first, reader) => Math.min(first, placeOf(reader)), Number.POSITIVE_INFINITY);
  }

  /** Whether a node's results take at least the memory of the operands that waiting would keep alive. */
  #mayWait(node: Planned, until: number): boolean {
    let kept = 0;
    for (const { root, bytes, readers } of node.memories) {
      if (bytes === 0 || this.#decoded.has(root)) continue;
      if (!readers.some((reader) => reader !== node && placeOf(reader) >= until)) kept += bytes;
    }
    return node.allocated + NEGLIGIBLE >= kept;
  }

  /** Appends a node after the delayed nodes that it needs, those that free most memory first. */
  #schedule(node: Planned): void {
    const stack = [node];
    for (let next = stack.at(-1); next !== undefined; next = stack.at(-1)) {
      const missing = next.isScheduled ? [] : this.#missing(next);
      if (missing.length > 0) {
        stack.push(...missing);
        continue;
      }
      stack.pop();
      if (next.isScheduled) continue;
      next.isScheduled = true;
      this.#order.push(next);
      for (const memory of next.memories) memory.left--;
    }
  }

  /** The unscheduled nodes whose results a node reads; the last of the list is to run first. */
  #missing({ producers }: Planned): readonly Planned[] {
    const missing = [...producers].filter(({ isScheduled }) => !isScheduled);
    if (missing.length < 2) return missing;
    return missing.sort((a, b) => this.#growth([b]) - this.#growth([a]) || b.position - a.position);
  }

  /** Runs the eager nodes that follow from these nodes' results, if together they take no more memory. */
  #runEager(news: readonly Planned[]): void {
    const group = this.#runnable(news);
    const isReadWithin = ({ readers }: Planned): boolean => readers.some((reader) => group.has(reader));
    const mayGoOnWaiting = [...group].filter((node) => isDelayed(node) && node.allocated > NEGLIGIBLE);
    for (const node of inOrder(mayGoOnWaiting).toReversed()) if (!isReadWithin(node)) group.delete(node);
    if (group.size === 0 || this.#growth(group) > NEGLIGIBLE) return;
    for (const node of this.#inParts(group)) {
      if (!isDelayed(node) || !isReadWithin(node)) this.#schedule(node);
    }
  }

  /**
   * Keeps the order of a group. With decoded state, puts the nodes of each parameter together, so that one parameter's
   * state is stored before the next is decoded. Nodes with the same large value belong to one parameter.
   */
  #inParts(group: ReadonlySet<Planned>): readonly Planned[] {
    const nodes = inOrder(group);
    if (this.#decoded.size === 0) return nodes;
    const next = new Map<Planned, Planned>();
    const findLeader = (node: Planned): Planned => {
      let leader = node;
      for (let other = next.get(leader); other !== undefined; other = next.get(leader)) leader = other;
      return leader;
    };
    const users = new Map<Value, Planned>();
    for (const planned of nodes) {
      const { inputs, outputs } = planned.node;
      for (const root of [...inputs, ...outputs].map((value) => this.storages.root(value))) {
        if (byteLength(root) <= NEGLIGIBLE || this.storages.held.has(root)) continue;
        const [leader, other] = [findLeader(planned), findLeader(users.get(root) ?? planned)];
        if (leader !== other) next.set(leader, other);
        users.set(root, planned);
      }
    }
    const parts = new Map<Planned, Planned[]>();
    for (const node of nodes) {
      const part = parts.get(findLeader(node));
      if (part === undefined) parts.set(findLeader(node), [node]);
      else part.push(node);
    }
    return [...parts.values()].flat();
  }

  /** Runs the last readers of each value that a reader of these nodes also reads, if that frees memory. */
  #runLastReaders(news: readonly Planned[]): void {
    const large = new Set<Memory>();
    for (const { readers } of news)
      for (const { memories } of readers)
        for (const memory of memories) if (memory.bytes > NEGLIGIBLE) large.add(memory);
    for (const memory of large) {
      const last = memory.readers.filter(({ isScheduled }) => !isScheduled);
      const allCanRun = last.every((reader) => reader.node.origin.phase === "backward" && canRun(reader));
      if (!allCanRun || this.#growth(last) >= -NEGLIGIBLE) continue;
      for (const reader of last) this.#schedule(reader);
    }
  }

  /** Eager nodes that can run now, one after the other, with the delayed nodes that they need. */
  #runnable(news: readonly Planned[]): Set<Planned> {
    const group = new Set<Planned>();
    const queue = new Set(news);
    for (const { readers } of queue) {
      for (const reader of readers) {
        if (reader.isScheduled || group.has(reader)) continue;
        if (!reader.isEager) {
          if (isDelayed(reader)) queue.add(reader);
          continue;
        }
        for (const needed of this.#needed(reader, group)) {
          group.add(needed);
          queue.add(needed);
        }
      }
    }
    return group;
  }

  /**
   * Returns a node and the delayed nodes outside the group that it needs; nothing if it needs other nodes. A known
   * `blocker` blocks until it is scheduled or in the group.
   */
  #needed(node: Planned, group: ReadonlySet<Planned>): Iterable<Planned> {
    const isMissing = (other: Planned): boolean => !other.isScheduled && !group.has(other);
    if (node.blocker !== undefined && isMissing(node.blocker)) return [];
    const needed = new Set([node]);
    for (const { producers } of needed) {
      for (const producer of producers) {
        if (!isMissing(producer)) continue;
        if (!isDelayed(producer)) {
          node.blocker = producer;
          return [];
        }
        needed.add(producer);
      }
    }
    return needed;
  }

  /** The change in the number of bytes in use from running the group. */
  #growth(group: Iterable<Planned>): number {
    let growth = 0;
    const read: Memory[] = [];
    for (const { allocated, memories } of group) {
      growth += allocated;
      for (const memory of memories) {
        if (--memory.left === 0) growth -= memory.bytes;
        read.push(memory);
      }
    }
    for (const memory of read) memory.left++;
    return growth;
  }
}
