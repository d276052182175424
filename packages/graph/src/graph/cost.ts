import { totalBytes } from "../host/host-tensor.js";
import type { Op, OpAttributes } from "./attributes.js";
import type { Graph, Phase, ValueType } from "./graph.js";
import { type OpRow, opTable } from "./op-table.js";

/**
 * The cost of running a node. Arithmetic operations: a multiply-add counts as two, a comparison or a function such as
 * exp as one. Bytes read and written: each operand and result counts once. The cost follows from the op's definition,
 * not from an engine's kernel, so that achieved rates of engines are comparable.
 */
export interface Cost {
  readonly flops: number;
  readonly bytes: number;
}

/** Cost of one op on operands of the given types. */
export function opCost<K extends Op>(
  op: K,
  inputs: readonly ValueType[],
  outputs: readonly ValueType[],
  attributes: OpAttributes[K],
): Cost {
  const row: OpRow<K> = opTable[op];
  const flops = row.flops(inputs, outputs, attributes);
  // A view shares its operand's memory, and a constant exists before a run.
  if (row.moves === "view" || op === "Constant") return { flops, bytes: 0 };
  const written = totalBytes(outputs);
  const readsPart = row.moves === "slices" || row.moves === "looks-up";
  return { flops, bytes: written + (readsPart ? written + totalBytes(inputs.slice(1)) : totalBytes(inputs)) };
}

export interface GraphCost extends Cost {
  readonly byPhase: Readonly<Partial<Record<Phase, Cost>>>;
  readonly byOp: Readonly<Partial<Record<Op, Cost & { readonly count: number }>>>;
}

/**
 * Sums the cost of a graph's nodes; `flops` divided by a measured time is the achieved rate. The nodes of a loop's
 * body count once for each step, in the loop's phase; the loop itself counts nothing.
 */
export function graphCost(graph: Graph): GraphCost {
  let all: Cost = { flops: 0, bytes: 0 };
  const byPhase: Partial<Record<Phase, Cost>> = {};
  const byOp: Partial<Record<Op, Cost & { readonly count: number }>> = {};
  const visit = ({ nodes }: Graph, times: number, outer?: Phase): void => {
    for (const node of nodes) {
      const phase = outer ?? node.origin.phase;
      if (node.op === "Scan") {
        visit(node.attributes.body, times * node.attributes.length, phase);
        continue;
      }
      const { flops, bytes } = opCost(node.op, node.inputs, node.outputs, node.attributes);
      const cost = { flops: times * flops, bytes: times * bytes };
      all = plus(all, cost);
      byPhase[phase] = plus(byPhase[phase], cost);
      byOp[node.op] = { ...plus(byOp[node.op], cost), count: (byOp[node.op]?.count ?? 0) + times };
    }
  };
  visit(graph, 1);
  return { ...all, byPhase, byOp };
}

function plus(a: Cost | undefined, b: Cost): Cost {
  return { flops: (a?.flops ?? 0) + b.flops, bytes: (a?.bytes ?? 0) + b.bytes };
}
