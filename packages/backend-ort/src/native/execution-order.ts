/**
 * In which order ONNX Runtime runs a node list, and how to write a list that it runs in the order wanted.
 *
 * ORT ignores the order of the file. It walks depth first from the nodes whose outputs no node reads, the
 * highest node number first, into each node's inputs, again the highest number first, and runs nodes as the
 * walk leaves them (graph_viewer.cc, ReverseDFSFrom in graph.cc); a node's number is its place in the file.
 * So a list written backwards makes the walk prefer what is scheduled first, which gives exactly the
 * schedule when that is some depth-first order. Where it is not, an anchor, a reader of one value with no
 * readers of its own, makes the walk start at a given node in its turn.
 */

/** A node by the names of what it reads and makes. Names that no node makes are the graph's own inputs. */
export interface OrderedNode {
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
}

/** One entry of a node list: a node by its place in the schedule, or an anchor that reads `value`. */
export type ListedNode =
  | { readonly kind: "node"; readonly position: number }
  | { readonly kind: "anchor"; readonly value: string };

/** Places in `listed`, in the order in which ORT runs them (one device, sequential execution, no rewriting). */
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
 * The node list that makes ORT run `schedule`, a topological order, exactly as it stands. An anchor costs a
 * quarter of a microsecond and no memory; a depth-first schedule needs none.
 */
export function listForSchedule(schedule: readonly OrderedNode[]): readonly ListedNode[] {
  const { inputs, firstUse } = edges(schedule);
  const earliestFirst = inputs.map((places) => [...places].reverse());

  /** Whether a walk from `root`, when all before `start` has run, is the schedule's stretch from there to `root`. */
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

/** `firstUse` of what no node reads. */
const NEVER = 0xffffffff;

interface Edges {
  /** Places of the nodes that make what a node reads, ascending, each once. */
  readonly inputs: readonly (readonly number[])[];
  /** Place of the first node that reads a node. */
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
 * Ends of stretches from `start` that one walk could run: places that everything of the stretch leads to,
 * which it does when all of it is first read inside. None lies past the next node that nothing reads.
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

/** By bisection: the first is taken to hold, and all after one that does not to fail as well. */
function lastIndexWhere(values: readonly number[], holds: (value: number) => boolean): number {
  let low = 0;
  let high = values.length - 1;
  // Most often everything holds.
  for (let middle = high; low < high; middle = (low + high + 1) >> 1) {
    if (holds(values[middle] ?? 0)) low = middle;
    else high = middle - 1;
  }
  return low;
}

/**
 * ORT's walk: from a root into each node's inputs, the last listed first, telling `leave` of each node in
 * post-order until it answers false. What was left in an earlier walk, or lies before `start`, is not entered.
 */
function depthFirst(
  inputs: readonly (readonly number[])[],
  start = 0,
): (root: number, leave: (node: number) => boolean) => void {
  const isEntered = new Set<number>();
  return (root, leave) => {
    // A node that has been entered goes back complemented, to be left when its inputs are done.
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
