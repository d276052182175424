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
  const { predecessors, isLeaf } = edges(listed);
  const isVisited = new Uint8Array(listed.length);
  const order: number[] = [];
  for (let root = listed.length - 1; root >= 0; root--) {
    if (isLeaf[root] !== 1) continue;
    walk(
      root,
      (node) => predecessors[node] ?? [],
      isVisited,
      1,
      (node) => {
        order.push(node);
        return true;
      },
    );
  }
  return order;
}

/**
 * The node list that makes ORT run `schedule`, a topological order, exactly as it stands. Each anchor costs a
 * node (about a microsecond) and no memory; a depth-first schedule needs none.
 */
export function listForSchedule(schedule: readonly OrderedNode[]): readonly ListedNode[] {
  const { predecessors, isLeaf } = edges(schedule);
  const inputsLatestFirst = predecessors.map((places) => [...places].reverse());
  const stamps = new Uint32Array(schedule.length);
  let stamp = 0;

  /** How far the walk from `root` follows the schedule from `start` on. */
  const follow = (root: number, start: number): number => {
    let next = start;
    walk(
      root,
      (node) => (inputsLatestFirst[node] ?? []).filter((input) => input >= start),
      stamps,
      ++stamp,
      (node) => node === next && ++next > 0,
    );
    return next;
  };

  const listed: ListedNode[] = [];
  let start = 0;
  while (start < schedule.length) {
    let root = isLeaf.indexOf(1, start);
    if (root < 0) throw new Error("internal: the schedule is not a topological order");
    for (let reached = follow(root, start); reached <= root; reached = follow(root, start)) {
      root = Math.max(start, reached - 1);
    }
    for (; start <= root; start++) listed.push({ kind: "node", position: start });
    const value = schedule[root]?.outputs[0];
    if (isLeaf[root] !== 1 && value !== undefined) listed.push({ kind: "anchor", value });
  }
  return listed.reverse();
}

interface Edges {
  /** Places of the nodes that make a node's inputs, ascending, each once. */
  readonly predecessors: readonly (readonly number[])[];
  readonly isLeaf: Uint8Array;
}

function edges(nodes: readonly OrderedNode[]): Edges {
  const producers = new Map<string, number>();
  nodes.forEach((node, place) => {
    for (const output of node.outputs) if (output !== "") producers.set(output, place);
  });
  const isLeaf = new Uint8Array(nodes.length).fill(1);
  const predecessors = nodes.map((node) => {
    const places = new Set<number>();
    for (const input of node.inputs) {
      const place = producers.get(input);
      if (place === undefined) continue;
      places.add(place);
      isLeaf[place] = 0;
    }
    return [...places].sort((a, b) => a - b);
  });
  return { predecessors, isLeaf };
}

/**
 * Depth first from `root`, last of `inputsOf` first, calling `leave` in post-order; stops when it returns
 * false. A node is visited once its mark equals `stamp`.
 */
function walk(
  root: number,
  inputsOf: (node: number) => readonly number[],
  marks: Uint8Array | Uint32Array,
  stamp: number,
  leave: (node: number) => boolean,
): void {
  // A node entered is put back complemented, to be left when what it reads is done.
  const stack = [root];
  for (let entry = stack.pop(); entry !== undefined; entry = stack.pop()) {
    if (entry < 0) {
      if (!leave(~entry)) return;
      continue;
    }
    if (marks[entry] === stamp) continue;
    marks[entry] = stamp;
    stack.push(~entry);
    for (const input of inputsOf(entry)) if (marks[input] !== stamp) stack.push(input);
  }
}
