import { type AnyNode, type Graph, isNode, producers, type Value } from "@mp/graph";
import { sourceOfIndices } from "@mp/graph/internal";

/** Facts about a graph's indices before it runs: bounds that nodes imply, and checks emitted so far. */
export class KnownIndices {
  readonly #makers: ReadonlyMap<Value, AnyNode>;
  /** Axis sizes by checked value. The value's elements are known to be in range for that size. */
  readonly #checked = new Map<Value, number>();

  constructor(graph: Graph) {
    this.#makers = producers(graph);
  }

  /**
   * Whether indices along axes of these sizes must be checked when they are read; if so, records the check.
   * @param indices i32; negative ones count from the end
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

/** Bounds of the elements that a node computes; infinite if nothing is known. */
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
