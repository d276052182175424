/**
 * The order in which ONNX Runtime runs a node list, and how to write a list that it runs in the wanted order.
 *
 * ORT ignores the order of the file. It walks depth first from the nodes whose outputs no node reads, the highest node
 * number first, into each node's inputs, again the highest number first, and runs nodes as the walk leaves them
 * (graph_viewer.cc, ReverseDFSFrom in graph.cc); a node's number is its position in the file. So in a list written
 * backwards the walk prefers what is scheduled first, and the result is exactly the schedule if that is some
 * depth-first order. Where it is not, an anchor makes the walk start at a given node at the right time: it reads one
 * value, and no node reads it.
 */

/** A node by the names of what it reads and produces. Names that no node produces are the graph's own inputs. */
export interface OrderedNode {
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
}

/** One entry of a node list: a node by its position in the schedule, or an anchor that reads `value`. */
export type ListedNode =
  | { readonly kind: "node"; readonly position: number }
  | { readonly kind: "anchor"; readonly value: string };

/** Indices into `listed`, in the order in which ORT runs them (one device, sequential execution, no rewriting). */
export function executionOrder(listed: readonly OrderedNode[]): readonly number[] {
  const { inputs, firstUse } = edges(listed);
  const order: number[] = [];
  const walk = depthFirst(inputs);
  for (let root = listed.length - 1; root >= 0; root--) {
    if (firstUse[root] !== NEVER) continue;
    walk(root, (node) => {
      order.push(node);
      return true;
    });
  }
  return order;
}

/**
 * The node list that makes ORT run `schedule`, a topological order, exactly as given. An anchor costs a quarter of a
 * microsecond and no memory; a depth-first schedule needs none.
 */
export function listForSchedule(schedule: readonly OrderedNode[]): readonly ListedNode[] {
  const { inputs, firstUse } = edges(schedule);
  const earliestFirst = inputs.map((places) => [...places].reverse());

  /**
   * Whether a walk from `root`, when all nodes before `start` have run, runs exactly the schedule from `start` to
   * `root`.
   */
  const isStretch = (start: number, root: number): boolean => {
    let next = start;
    depthFirst(earliestFirst, start)(root, (node) => node === next && next++ >= 0);
    return next === root + 1;
  };

  const listed: ListedNode[] = [];
  for (let start = 0; start < schedule.length; start++) {
    const roots = possibleRoots(firstUse, start);
    const root = roots[lastIndexWhere(roots, (candidate) => isStretch(start, candidate))] ?? start;
    for (; start < root; start++) listed.push({ kind: "node", position: start });
    listed.push({ kind: "node", position: root });
    const value = schedule[root]?.outputs.find((name) => name !== "");
    if (firstUse[root] !== NEVER && value !== undefined) listed.push({ kind: "anchor", value });
  }
  return listed.reverse();
}

/**
 * Another topological order of a schedule, as indices into it: what runs late is listed as early as its operands allow.
 * Bodies of loops have to be listed in a topological order; of those, in this one the walk prefers what is scheduled
 * first, except where operands were in the way.
 */
export function lateFirst(schedule: readonly OrderedNode[]): readonly number[] {
  const { inputs } = edges(schedule);
  const missing = inputs.map((places) => places.length);
  const readers = new Map<number, number[]>();
  inputs.forEach((places, node) => {
    for (const place of places) readers.set(place, [...(readers.get(place) ?? []), node]);
  });
  const ready = missing.flatMap((count, node) => (count === 0 ? [node] : []));
  const order: number[] = [];
  while (ready.length > 0) {
    const node = ready.reduce((latest, other) => Math.max(latest, other), 0);
    ready.splice(ready.indexOf(node), 1);
    order.push(node);
    for (const reader of readers.get(node) ?? []) {
      missing[reader] = (missing[reader] ?? 0) - 1;
      if (missing[reader] === 0) ready.push(reader);
    }
  }
  return order;
}

/** `firstUse` of a node that no node reads. */
const NEVER = 0xffffffff;

interface Edges {
  /** Indices of the nodes that produce what a node reads, ascending, each once. */
  readonly inputs: readonly (readonly number[])[];
  /** Index of the first node that reads a node. */
  readonly firstUse: Uint32Array;
}

function edges(nodes: readonly OrderedNode[]): Edges {
  const producers = new Map<string, number>();
  nodes.forEach((node, place) => {
    for (const output of node.outputs) if (output !== "") producers.set(output, place);
  });
  const firstUse = new Uint32Array(nodes.length).fill(NEVER);
  const inputs = nodes.map((node, place) => {
    const places = new Set<number>();
    for (const input of node.inputs) {
      const producer = producers.get(input);
      if (producer === undefined) continue;
      places.add(producer);
      firstUse[producer] = Math.min(firstUse[producer] ?? NEVER, place);
    }
    return [...places].sort((a, b) => a - b);
  });
  return { inputs, firstUse };
}

/**
 * The nodes at which a walk from `start` could end: every node of the stretch leads to them, which is so when each is
 * first read inside the stretch. None is past the next node that nothing reads.
 */
function possibleRoots(firstUse: Uint32Array, start: number): number[] {
  const roots = [start];
  let furthest = firstUse[start] ?? NEVER;
  for (let place = start + 1; place < firstUse.length && furthest !== NEVER; place++) {
    if (furthest === place) roots.push(place);
    furthest = Math.max(furthest, firstUse[place] ?? NEVER);
  }
  return roots;
}

/** By bisection: assumes that the first holds, and that all after one that does not hold fail as well. */
function lastIndexWhere(values: readonly number[], holds: (value: number) => boolean): number {
  let low = 0;
  let high = values.length - 1;
  // Usually everything holds.
  for (let middle = high; low < high; middle = (low + high + 1) >> 1) {
    if (holds(values[middle] ?? 0)) low = middle;
    else high = middle - 1;
  }
  return low;
}

/**
 * ORT's walk: from a root into each node's inputs, the last listed first. Calls `leave` with each node in post-order
 * until it returns false. Nodes that an earlier walk has left, or before `start`, are not entered.
 */
function depthFirst(
  inputs: readonly (readonly number[])[],
  start = 0,
): (root: number, leave: (node: number) => boolean) => void {
  const isEntered = new Set<number>();
  return (root, leave) => {
    // A node that has been entered is pushed again, complemented, and left when its inputs are done.
    const stack = [root];
    for (let entry = stack.pop(); entry !== undefined; entry = stack.pop()) {
      if (entry < 0) {
        if (!leave(~entry)) return;
      } else if (!isEntered.has(entry)) {
        isEntered.add(entry);
        stack.push(~entry);
        for (const input of inputs[entry] ?? []) {
          if (input >= start && !isEntered.has(input)) stack.push(input);
        }
      }
    }
  };
}
