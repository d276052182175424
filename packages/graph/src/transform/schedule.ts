/**
 * The order in which a graph runs. Engines must follow it, since it decides how much memory a step takes. The forward
 * pass stays in order, and so do the matrix products, except under the third rule. Four rules move nodes:
 * - a cheap node whose result is no smaller than the memory that running it would free (`1 - y·y`, a Transpose, β·m)
 *   waits until a node that reads it is about to run;
 * - nodes that follow from gradients (casts to f32, the optimizer) run as soon as a group of them that frees more
 *   than it leaves behind can run as a whole: a parameter is updated right after its gradient is complete;
 * - when all remaining readers of a value can run, and their results take less memory than the value, they run: a
 *   saved activation ends as a mask and a weight gradient before the gradient of its layer's input is computed;
 * - everything else keeps the given order, in which gradients come in reverse order of the forward pass.
 */
import type { Op } from "../graph/attributes.js";
import { PRODUCT_OPS } from "../graph/families.js";
import { type AnyNode, consumers, type Graph, producers, type Value } from "../graph/graph.js";
import { byteLength, totalBytes } from "../host/host-tensor.js";
import { peakLiveBytes, Storages } from "./liveness.js";

/** Ops that stay in place: their operands are in the caches there, and they structure profiles for readers. */
const ANCHORED: ReadonlySet<Op> = new Set<Op>([...PRODUCT_OPS, "Attention"]);

/** Sizes up to this many bytes are ignored: scalars, counters, rates. */
const NEGLIGIBLE = 4096;

/** The same nodes in an order of low peak memory; the graph itself if that order has a higher peak. */
export function scheduleGraph(graph: Graph): Graph {
  const nodes = new Scheduling(graph).run();
  const scheduled: Graph = Object.freeze({ ...graph, nodes: Object.freeze(nodes) });
  const peak = (order: Graph): number => peakLiveBytes(order, { outputsHeld: true }).bytes;
  return peak(scheduled) <= peak(graph) ? scheduled : graph;
}

class Scheduling {
  readonly #graph: Graph;
  readonly #storages: Storages;
  readonly #producers: ReadonlyMap<Value, AnyNode>;
  readonly #consumers: ReadonlyMap<Value, readonly AnyNode[]>;
  readonly #returned: ReadonlySet<Value>;
  readonly #positions = new Map<AnyNode, number>();
  /** Nodes that wait for a reader. */
  readonly #delayed = new Set<AnyNode>();
  /**
   * Values widened from memory that is held anyway, such as weights and state in few bits. Nodes that compute them
   * wait, which keeps nothing else alive.
   */
  readonly #decoded = new Set<Value>();
  /** Nodes that follow from gradients without being part of the backward pass. */
  readonly #eager = new Set<AnyNode>();
  readonly #scheduled = new Set<AnyNode>();
  /** Number of readers of each memory that have not been scheduled. */
  readonly #left = new Map<Value, number>();
  readonly #order: AnyNode[] = [];

  constructor(graph: Graph) {
    this.#graph = graph;
    this.#storages = new Storages(graph);
    this.#producers = producers(graph);
    this.#consumers = consumers(graph);
    this.#returned = new Set(graph.outputs.map(({ value }) => value));
    graph.nodes.forEach((node, index) => {
      this.#positions.set(node, index);
    });
    this.#classify();
  }

  run(): readonly AnyNode[] {
    for (const node of this.#graph.nodes) {
      if (this.#delayed.has(node) || this.#scheduled.has(node)) continue;
      const from = this.#order.length;
      for (const operand of this.#missing(node).toReversed()) this.#schedule(operand);
      this.#runLastReaders(this.#order.slice(from));
      this.#schedule(node);
      this.#runEager(this.#order.slice(from));
      this.#runLastReaders(this.#order.slice(from));
    }
    for (const node of this.#graph.nodes) this.#schedule(node);
    return this.#order;
  }

  /** Decides which nodes are eager (in graph order), then which are delayed (in reverse order). */
  #classify(): void {
    const afterGradient = new Set<AnyNode>();
    const movable: AnyNode[] = [];
    for (const node of this.#graph.nodes) {
      // A literal that the backward pass made first may be read by other phases.
      const isBackward = node.origin.phase === "backward" && node.inputs.length > 0;
      const follows = node.inputs.some((input) => {
        const producer = this.#producers.get(input);
        return producer !== undefined && afterGradient.has(producer);
      });
      if (isBackward || follows) afterGradient.add(node);
      if (!isBackward && follows) this.#eager.add(node);
      const isForward = !isBackward && !follows && node.origin.phase !== "update";
      if (ANCHORED.has(node.op)) continue;
      const isDecoded = !isBackward && this.#decodes(node);
      if (isDecoded) for (const output of node.outputs) this.#decoded.add(output);
      if (!isForward || isDecoded || node.inputs.length === 0) movable.push(node);
    }
    const waits = new Map<AnyNode, number>();
    for (const node of movable.reverse()) {
      const until = this.#firstRead(node, waits);
      if (until === undefined || !this.#mayWait(node, until, waits)) continue;
      waits.set(node, until);
      this.#delayed.add(node);
    }
  }

  /** Whether the node widens held memory, or reads only the results of such nodes and held memory. */
  #decodes({ op, inputs, outputs }: AnyNode): boolean {
    const isDecoded = (input: Value): boolean => this.#decoded.has(input);
    const isHeld = (input: Value): boolean => this.#storages.held.has(this.#storages.root(input));
    const widens = op === "Cast" && totalBytes(outputs) > totalBytes(inputs);
    return (widens || inputs.some(isDecoded)) && inputs.every((input) => isDecoded(input) || isHeld(input));
  }

  #position(node: AnyNode): number {
    return this.#positions.get(node) ?? 0;
  }

  /**
   * The position at which a node's results are first read, counting delays; undefined if some are returned or none is
   * read.
   */
  #firstRead(node: AnyNode, waits: ReadonlyMap<AnyNode, number>): number | undefined {
    let first: number | undefined;
    for (const output of node.outputs) {
      if (this.#returned.has(output)) return undefined;
      for (const reader of this.#consumers.get(output) ?? []) {
        const position = waits.get(reader) ?? this.#position(reader);
        first = first === undefined ? position : Math.min(first, position);
      }
    }
    return first;
  }

  /** Whether a node's result takes at least the memory of the operands that only this node would keep until then. */
  #mayWait(node: AnyNode, until: number, waits: ReadonlyMap<AnyNode, number>): boolean {
    let kept = 0;
    for (const root of this.#rootsOf(node)) {
      if (this.#decoded.has(root)) continue;
      const isReadLater = this.#storages
        .readers(root)
        .some((reader) => reader !== node && (waits.get(reader) ?? this.#position(reader)) >= until);
      if (!isReadLater) kept += this.#bytes(root);
    }
    return this.#allocated(node) + NEGLIGIBLE >= kept;
  }

  #rootsOf(node: AnyNode): ReadonlySet<Value> {
    return new Set(node.inputs.map((input) => this.#storages.root(input)));
  }

  /** Memory that ends with its last reader; 0 for memory that is held or returned. */
  #bytes(root: Value): number {
    return this.#storages.held.has(root) || this.#storages.returned.has(root) ? 0 : byteLength(root);
  }

  #allocated(node: AnyNode): number {
    return this.#storages.allocations(node).reduce((sum, output) => sum + this.#bytes(output), 0);
  }

  /** Appends a node after the delayed nodes that it needs, beginning with those that free the most memory. */
  #schedule(node: AnyNode): void {
    const stack = [node];
    for (let next = stack.at(-1); next !== undefined; next = stack.at(-1)) {
      const missing = this.#scheduled.has(next) ? [] : this.#missing(next);
      if (missing.length > 0) {
        stack.push(...missing);
        continue;
      }
      stack.pop();
      if (this.#scheduled.has(next)) continue;
      this.#scheduled.add(next);
      this.#order.push(next);
      for (const root of this.#rootsOf(next)) this.#left.set(root, this.#readersLeft(root) - 1);
    }
  }

  /** The unscheduled nodes whose results a node reads; the one to run first is the last. */
  #missing(node: AnyNode): AnyNode[] {
    const missing = new Set<AnyNode>();
    for (const input of node.inputs) {
      const producer = this.#producers.get(input);
      if (producer !== undefined && !this.#scheduled.has(producer)) missing.add(producer);
    }
    if (missing.size < 2) return [...missing];
    const growths = new Map([...missing].map((one) => [one, this.#growth(new Set([one]))]));
    return [...missing].sort(
      (a, b) => (growths.get(b) ?? 0) - (growths.get(a) ?? 0) || this.#position(b) - this.#position(a),
    );
  }

  #inOrder(nodes: Iterable<AnyNode>): readonly AnyNode[] {
    return [...nodes].sort((a, b) => this.#position(a) - this.#position(b));
  }

  #readersLeft(root: Value): number {
    return this.#left.get(root) ?? this.#storages.readers(root).length;
  }

  /** Runs the eager nodes that follow from these nodes' results, if that frees memory in all. */
  #runEager(news: readonly AnyNode[]): void {
    const group = this.#runnable(news);
    const isReadWithin = (node: AnyNode): boolean =>
      node.outputs.some((output) => this.#consumers.get(output)?.some((reader) => group.has(reader)));
    for (const node of this.#inOrder(group).toReversed()) {
      const mayGoOnWaiting = this.#delayed.has(node) && this.#allocated(node) > NEGLIGIBLE;
      if (mayGoOnWaiting && !isReadWithin(node)) group.delete(node);
    }
    if (group.size === 0 || this.#growth(group) > NEGLIGIBLE) return;
    for (const node of this.#inParts(group)) {
      if (!this.#delayed.has(node) || !isReadWithin(node)) this.#schedule(node);
    }
  }

  /**
   * Keeps the order of a group, except that with decoded state one parameter follows the other: one is stored before
   * the next is decoded. Nodes that touch the same large value belong to the same parameter.
   */
  #inParts(group: ReadonlySet<AnyNode>): readonly AnyNode[] {
    const nodes = this.#inOrder(group);
    if (this.#decoded.size === 0) return nodes;
    const next = new Map<AnyNode, AnyNode>();
    const findLeader = (node: AnyNode): AnyNode => {
      let leader = node;
      for (let other = next.get(leader); other !== undefined; other = next.get(leader)) leader = other;
      return leader;
    };
    const users = new Map<Value, AnyNode>();
    for (const node of nodes) {
      for (const root of [...node.inputs, ...node.outputs].map((value) => this.#storages.root(value))) {
        if (byteLength(root) <= NEGLIGIBLE || this.#storages.held.has(root)) continue;
        const [leader, other] = [findLeader(node), findLeader(users.get(root) ?? node)];
        if (leader !== other) next.set(leader, other);
        users.set(root, node);
      }
    }
    const parts = new Map<AnyNode, AnyNode[]>();
    for (const node of nodes) {
      const part = parts.get(findLeader(node));
      if (part === undefined) parts.set(findLeader(node), [node]);
      else part.push(node);
    }
    return [...parts.values()].flat();
  }

  /** Runs the last readers of values that readers of these nodes also read, if that frees memory. */
  #runLastReaders(news: readonly AnyNode[]): void {
    const readers = news.flatMap((node) =>
      node.outputs.flatMap((output) => this.#consumers.get(output) ?? []),
    );
    for (const root of new Set(readers.flatMap((reader) => [...this.#rootsOf(reader)]))) {
      if (this.#bytes(root) <= NEGLIGIBLE) continue;
      const last = this.#storages.readers(root).filter((reader) => !this.#scheduled.has(reader));
      const canRun = last.every((reader) => reader.origin.phase === "backward" && this.#canRun(reader));
      if (!canRun || this.#growth(new Set(last)) >= -NEGLIGIBLE) continue;
      for (const reader of this.#inOrder(last)) this.#schedule(reader);
    }
  }

  /** Whether all nodes that a node needs have been scheduled, constants aside. */
  #canRun(node: AnyNode): boolean {
    return node.inputs.every((input) => {
      const producer = this.#producers.get(input);
      return producer === undefined || this.#scheduled.has(producer) || producer.inputs.length === 0;
    });
  }

  /** Eager nodes that can run now, one after the other, with the delayed nodes that they need. */
  #runnable(news: readonly AnyNode[]): Set<AnyNode> {
    const group = new Set<AnyNode>();
    const queue = new Set(news);
    for (const node of queue) {
      for (const output of node.outputs) {
        for (const reader of this.#consumers.get(output) ?? []) {
          if (this.#scheduled.has(reader) || group.has(reader)) continue;
          if (!this.#eager.has(reader)) {
            if (this.#delayed.has(reader)) queue.add(reader);
            continue;
          }
          for (const needed of this.#needed(reader, group)) {
            group.add(needed);
            queue.add(needed);
          }
        }
      }
    }
    return group;
  }

  /** A node with the delayed nodes that it needs besides the group; empty if it needs anything else. */
  #needed(node: AnyNode, group: ReadonlySet<AnyNode>): ReadonlySet<AnyNode> {
    const needed = new Set([node]);
    for (const next of needed) {
      if (next !== node && !this.#delayed.has(next)) return new Set();
      for (const input of next.inputs) {
        const producer = this.#producers.get(input);
        if (producer !== undefined && !this.#scheduled.has(producer) && !group.has(producer))
          needed.add(producer);
      }
    }
    return needed;
  }

  /** The change in the number of bytes in use from running the group. */
  #growth(group: ReadonlySet<AnyNode>): number {
    let growth = 0;
    const read = new Map<Value, number>();
    for (const node of group) {
      growth += this.#allocated(node);
      for (const root of this.#rootsOf(node)) read.set(root, (read.get(root) ?? 0) + 1);
    }
    for (const [root, readers] of read) if (this.#readersLeft(root) === readers) growth -= this.#bytes(root);
    return growth;
  }
}
