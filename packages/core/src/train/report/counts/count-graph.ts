import { elementCount, type Graph, GraphBuilder, isHalf, Tensor, type Value } from "@mp/graph";
import { emitWidened, GraphCopy, unrollScans, withBuilder, withoutLines } from "@mp/graph/internal";
import { concat, reshape } from "@mp/graph/ops";
import { type CountedTensor, countExponents, LONGEST, splitVectors } from "./exponent-counts.js";
import { type ValueGroup, valueGroups } from "./value-groups.js";

/** Values of a group are concatenated up to this many elements, which saves nodes. */
const JOINED = 2 ** 18;

/** A graph that counts the values of another graph. Outputs: `rows` f32 [ROW · n], `largest` f32 [n]. */
export interface CountGraph {
  readonly graph: Graph;
  /** Groups in the order of their first values. */
  readonly groups: readonly ValueGroup[];
  /** The index of the group of each row; a group may have several rows. */
  readonly rows: readonly number[];
}

/**
 * Computes the graph in f32 throughout and outputs a histogram for each group of values instead of results. A value
 * that would underflow or overflow in the half dtype is thus counted at its true size. Values are counted as soon as
 * enough have been collected, and then dropped.
 */
export function countGraph(graph: Graph): CountGraph {
  return new Counting(unrollScans(graph)).run();
}

interface Waiting {
  readonly group: ValueGroup;
  readonly place: number;
  readonly parts: Tensor[];
  size: number;
}

class Counting {
  readonly #graph: Graph;
  readonly #groups: ReadonlyMap<Value, ValueGroup>;
  readonly #copy: GraphCopy<GraphBuilder>;
  readonly #waiting = new Map<string, Waiting>();
  readonly #rows: number[] = [];
  readonly #counted: CountedTensor[] = [];

  constructor(graph: Graph) {
    this.#graph = graph;
    this.#copy = new GraphCopy(graph, new GraphBuilder());
    this.#groups = valueGroups(graph);
  }

  run(): CountGraph {
    const copy = this.#copy;
    const { builder } = copy;
    return withBuilder(builder, () =>
      withoutLines(() => {
        copy.copyInputs();
        for (const { value } of this.#graph.inputs) {
          const input = copy.counterpart(value);
          if (isHalf(value.dtype)) copy.values.set(value, builder.emitOne("Cast", [input], { to: "f32" }));
          this.#made(value);
        }
        for (const node of this.#graph.nodes) {
          copy.replace(node, emitWidened(builder, node, copy.counterparts(node.inputs), isHalf));
          for (const value of node.outputs) this.#made(value);
        }
        for (const waiting of this.#waiting.values()) this.#count(waiting);
        const join = (tensors: readonly Tensor[]): Value =>
          Tensor.valueIn(concat(tensors), builder, "precisionReport");
        const rows = join(this.#counted.map(({ row }) => row));
        const largest = join(this.#counted.map((counted) => counted.largest));
        const groups = [...this.#waiting.values()].map(({ group }) => group);
        return { graph: builder.finish({ rows, largest }), groups, rows: this.#rows };
      }),
    );
  }

  #made(value: Value): void {
    const group = this.#groups.get(value);
    if (group === undefined) return;
    const size = elementCount(value.shape, "precisionReport");
    const tensor = Tensor.of(this.#copy.counterpart(value));
    if (size <= LONGEST) {
      // Scalars get one axis, so that rows can be concatenated directly.
      this.#join(group, value.shape.length === 0 ? reshape(tensor, [1]) : tensor, size);
      return;
    }
    for (const vector of splitVectors(tensor)) this.#join(group, vector, vector.shape[0] as number);
  }

  #join(group: ValueGroup, part: Tensor, size: number): void {
    const key = `${group.kind} ${group.dtype} ${group.layer} ${group.label ?? ""}`;
    const waiting = this.#waiting.get(key) ?? { group, place: this.#waiting.size, parts: [], size: 0 };
    if (waiting.size + size > LONGEST) this.#count(waiting);
    waiting.parts.push(part);
    waiting.size += size;
    this.#waiting.set(key, waiting);
    if (waiting.size >= JOINED) this.#count(waiting);
  }

  #count(waiting: Waiting): void {
    if (waiting.parts.length === 0) return;
    this.#counted.push(countExponents(concatenate(waiting.parts)));
    this.#rows.push(waiting.place);
    waiting.parts.length = 0;
    waiting.size = 0;
  }
}

/** Joins all elements to one vector, in any order. A recurrent layer has many values of one shape. */
function concatenate(parts: readonly Tensor[]): Tensor {
  const byRow = new Map<string, Tensor[]>();
  for (const part of parts) {
    const row = part.shape.slice(1).join();
    byRow.set(row, [...(byRow.get(row) ?? []), part]);
  }
  const vectors = [...byRow.values()].map((alike) => {
    const rows = concat(alike);
    return reshape(rows, [elementCount(rows.shape, "precisionReport")]);
  });
  return concat(vectors);
}
