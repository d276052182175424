import { type AnyNode, type Graph, isNode, producers, type Value } from "@mp/graph";
import { sourceOfIndices } from "@mp/graph/internal";

/** What is known of the indices of a graph before it runs: those that it makes itself, and those checked so far. */
export class KnownIndices {
  readonly #makers: ReadonlyMap<Value, AnyNode>;
  /** For each value that has been checked, the least size that its elements are known to be within. */
  readonly #checked = new Map<Value, number>();

  constructor(graph: Graph) {
    this.#makers = producers(graph);
  }

  /**
   * Whether indices along axes of these sizes must be checked when they are read. Counts them as checked.
   * @param indices i32, counted from either end
   */
  needCheck(indices: Value, sizes: readonly number[]): boolean {
    const least = Math.min(...sizes);
    const source = sourceOfIndices(indices, (value) => this.#makers.get(value)) ?? indices;
    if ((this.#checked.get(source) ?? Number.POSITIVE_INFINITY) <= least) return false;
    const [from, to] = boundsOf(this.#makers.get(source), source);
    if (from >= -least && to < least) return false;
    this.#checked.set(source, Math.max(...sizes));
    return true;
  }
}

const UNKNOWN = [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY] as const;

/** The least and the greatest element of what a node makes. */
function boundsOf(maker: AnyNode | undefined, value: Value): readonly [from: number, to: number] {
  if (maker === undefined) return UNKNOWN;
  if (isNode(maker, "Constant")) {
    let [from, to] = [0, 0];
    for (const element of maker.attributes.value.data) {
      from = Math.min(from, Number(element));
      to = Math.max(to, Number(element));
    }
    return [from, to];
  }
  if (isNode(maker, "Range")) {
    const { start, delta } = maker.attributes;
    const last = start + delta * Math.max(0, (value.shape[0] ?? 0) - 1);
    return [Math.min(start, last), Math.max(start, last)];
  }
  const isPosition = isNode(maker, "ArgMax") || isNode(maker, "ArgMin") || isNode(maker, "TopK");
  if (!isPosition || maker.outputs.at(-1) !== value) return UNKNOWN;
  return [0, (maker.inputs[0]?.shape[maker.attributes.axis] ?? 0) - 1];
}
