/**
 * Predicts the order in which ONNX Runtime runs a node list, and writes lists that it runs in a wanted order.
 *
 * ORT ignores the order of the file. It walks depth first from the nodes whose outputs no node reads, the highest
 * node number first, into each node's inputs, again the highest number first, and runs nodes as the walk leaves them
 * (graph_viewer.cc, ReverseDFSFrom in graph.cc). A node's number is its position in the file. In a reversed list the
 * walk therefore prefers nodes that are scheduled first, and it yields exactly the schedule if that is a depth-first
 * order. Otherwise anchors help: an anchor reads one value, no node reads it, and so it makes the walk start at the
 * node of that value at the right time.
 */

/** A node with the names of its inputs and outputs. Names that no node produces are the graph's own inputs. */
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
 * Sorts nodes such that ORT runs them exactly in the order of `schedule`, which must be topological. A
 * depth-first schedule needs no anchors. An anchor costs a quarter of a microsecond per run and no memory.
 */
export function listForSchedule(schedule: readonly OrderedNode[]): readonly ListedNode[] {
  const { inputs, firstUse } = edges(schedule);
  const earliestFirst = inputs.map((places) => [...places].reverse());

  /** Whether a walk from `root` runs exactly the nodes from `start` to `root`, in order; those before have run. */
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
 * A topological order, as indices into `schedule`, in which nodes that are scheduled late come as early as
 * their operands allow. Loop bodies must be listed topologically; ORT's walk, which takes the last nodes of a
 * list first, then prefers nodes that are scheduled early.
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

/** The `firstUse` of a node that no node reads. */
const NEVER = 0xffffffff;

interface Edges {
  /** For each node, the distinct indices of the nodes that produce its inputs, ascending. */
  readonly inputs: readonly (readonly number[])[];
  /** For each node, the index of the first node that reads it. */
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
 * Nodes at which a walk from `start` could end. Each node between `start` and such a root is first read by the root or
 * by an earlier node. The search ends at the first node that nothing reads.
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

/** Bisects for the last index where `holds` is true. It must be true first and, once false, stay false. */
function lastIndexWhere(values: readonly number[], holds: (value: number) => boolean): number {
  let low = 0;
  let high = values.length - 1;
  // Tries the last value first, because usually all hold.
  for (let middle = high; low < high; middle = (low + high + 1) >> 1) {
    if (holds(values[middle] ?? 0)) low = middle;
    else high = middle - 1;
  }
  return low;
}

/**
 * ORT's walk from a root into each node's inputs, the last listed first. It calls `leave` with each node in
 * post-order until `leave` returns false. It skips nodes before `start` and nodes that an earlier walk has left.
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
