import { type Rebuilding, rebuildGraph } from "../graph/build/rebuild.js";
import { type AnyNode, type Graph, isNode, producers, type Value } from "../graph/graph.js";
import { eliminateCommonSubexpressions } from "./common-subexpressions.js";
import { eliminateDeadCode } from "./dead-code.js";
import { scheduleWithPeak } from "./schedule.js";
import { singleUseTest, sumTrees } from "./sum-trees.js";

/** Least number of terms to fuse. With fewer terms, the copies would cost more than the fused product saves. */
const MIN_TERMS = 4;

/** Fusions may add this fraction to the step's peak memory, or `NEGLIGIBLE_BYTES` if that is more. */
const MAX_GROWTH = 0.05;
const NEGLIGIBLE_BYTES = 2 ** 16;

/** One term of a sum: `left`, transposed, times `right`; without `left`, the sum over the rows of `right`. */
interface Term {
  readonly value: Value;
  /** Terms of equal `kind` are summed together, by concatenating their rows. */
  readonly kind: string;
  readonly left: Value | undefined;
  readonly right: Value;
  readonly node: AnyNode;
}

/** A sum and its groups of terms; each group becomes one product. */
interface Fusion {
  readonly root: AnyNode;
  readonly groups: readonly (readonly Term[])[];
  readonly rest: readonly Value[];
}

/**
 * Fuses the terms of weight gradients. The gradient of a weight that is used in many steps of a recurrence is a sum of
 * products Aᵗᵀ·Gᵗ: one Gemm over the concatenated rows of all Aᵗ and Gᵗ computes it in one pass, and in a half dtype
 * rounds once. The gradient of the bias is one ReduceSum over the same rows of Gᵗ. Other terms stay as they are. A sum
 * stays, too, if its operands would take too much memory while they wait for the last term. For example, for a weight
 * that many checkpointed blocks share, fusing would undo the checkpointing.
 */
export function fuseWeightGradients(graph: Graph): Graph {
  const fusions = findFusions(graph);
  if (fusions.length === 0) return graph;
  const before = peakBytes(eliminateCommonSubexpressions(graph));
  const limit = before + Math.max(before * MAX_GROWTH, NEGLIGIBLE_BYTES);
  const all = fuse(graph, fusions);
  if (peakBytes(all) <= limit) return all;
  let chosen: readonly Fusion[] = [];
  let best = graph;
  for (const fusion of fusions) {
    const fused = fuse(graph, [...chosen, fusion]);
    if (peakBytes(fused) > limit) continue;
    chosen = [...chosen, fusion];
    best = fused;
  }
  return best;
}

/** The peak of the graph in its final order, because after a fusion the schedule moves other nodes, too. */
const peakBytes = (graph: Graph): number => scheduleWithPeak(graph).peakBytes;

function findFusions(graph: Graph): readonly Fusion[] {
  const makers = producers(graph);
  const isUsedOnce = singleUseTest(graph);
  return sumTrees(graph).flatMap(({ root, leaves }) => {
    const kinds = new Map<string, Term[]>();
    for (const leaf of leaves) {
      const term = isUsedOnce(leaf) ? findTerm(leaf, makers) : undefined;
      if (term !== undefined) kinds.set(term.kind, [...(kinds.get(term.kind) ?? []), term]);
    }
    const groups = [...kinds.values()].filter((terms) => terms.length >= MIN_TERMS);
    if (groups.length === 0) return [];
    const taken = new Set(groups.flat().map((term) => term.value));
    return [{ root, groups, rest: leaves.filter((leaf) => !taken.has(leaf)) }];
  });
}

function fuse(graph: Graph, fusions: readonly Fusion[]): Graph {
  const byRoot = new Map(fusions.map((fusion) => [fusion.root, fusion]));
  const joined = new Map<string, Value>();
  const rebuilt = rebuildGraph(graph, (node, at) => {
    const fusion = byRoot.get(node);
    if (fusion === undefined) return undefined;
    const sums = fusion.groups.map((terms) => emitSum(terms, at, joined));
    const [first, ...others] = [...sums, ...fusion.rest.map((value) => at.counterpart(value))];
    return first && [others.reduce((sum, value) => at.builder.emitOne("Add", [sum, value], {}), first)];
  });
  return eliminateCommonSubexpressions(eliminateDeadCode(rebuilt));
}

function findTerm(value: Value, makers: ReadonlyMap<Value, AnyNode>): Term | undefined {
  const node = makers.get(value);
  if (node === undefined) return undefined;
  const [left, right] = node.inputs;
  if (isNode(node, "ReduceSum")) {
    const { axes, keepdims } = node.attributes;
    if (left === undefined || axes.length !== 1 || axes[0] !== 0) return undefined;
    return { value, kind: `rows ${keepdims}`, left: undefined, right: left, node: node as AnyNode };
  }
  if (left === undefined || right === undefined) return undefined;
  if (isNode(node, "Gemm")) {
    const { transA, transB, alpha } = node.attributes;
    if (!transA || transB || node.inputs.length > 2) return undefined;
    return { value, kind: `product ${alpha}`, left, right, node: node as AnyNode };
  }
  const transposed = makers.get(left);
  if (!isNode(node, "MatMul") || transposed === undefined || !isNode(transposed, "Transpose"))
    return undefined;
  if (left.shape.length !== 2 || right.shape.length !== 2 || transposed.attributes.perm[0] !== 1)
    return undefined;
  return { value, kind: "product 1", left: transposed.inputs[0], right, node: node as AnyNode };
}

function emitSum(terms: readonly Term[], at: Rebuilding, joined: Map<string, Value>): Value {
  const join = (values: readonly Value[]): Value => {
    const counterparts = at.counterparts(values);
    const key = counterparts.map(({ id }) => id).join();
    const known = joined.get(key) ?? at.builder.emitOne("Concat", counterparts, { axis: 0 });
    joined.set(key, known);
    return known;
  };
  const right = join(terms.map((term) => term.right));
  const lefts = terms.flatMap((term) => (term.left === undefined ? [] : [term.left]));
  const node = terms[0]?.node;
  if (lefts.length === 0) {
    const keepdims = node !== undefined && isNode(node, "ReduceSum") && node.attributes.keepdims;
    return at.builder.emitOne("ReduceSum", [right], { axes: [0], keepdims });
  }
  const alpha = node !== undefined && isNode(node, "Gemm") ? node.attributes.alpha : 1;
  return at.builder.emitOne("Gemm", [join(lefts), right], { transA: true, transB: false, alpha, beta: 1 });
}
