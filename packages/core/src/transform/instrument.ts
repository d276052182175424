import { isComputeFloat } from "../dtype.js";
import { GraphBuilder } from "../graph/builder.js";
import type { AnyNode, Graph, Value } from "../graph/graph.js";
import { poison } from "../trace/finite.js";
import { concat, reshape } from "../trace/ops/movement.js";
import { Tensor } from "../trace/tensor.js";
import { withBuilder, withoutLines } from "../trace/trace.js";

/** A probed value: a graph input, or an output of a node. */
export interface Probe {
  readonly input?: string;
  readonly node?: AnyNode;
  readonly value: Value;
}

/**
 * The graph with one output instead of its own: `poison`, f32 [probes], 0 where the value is finite
 * throughout and NaN where it is not, in the order in which values come to be.
 */
export function instrumentFinite(graph: Graph): { readonly graph: Graph; readonly probes: readonly Probe[] } {
  const builder = new GraphBuilder();
  const twins = new Map<Value, Value>();
  const probes: Probe[] = [];
  for (const { name, role, value } of graph.inputs) {
    twins.set(value, builder.input(name, value, role));
    if (isComputeFloat(value.dtype)) probes.push({ input: name, value });
  }
  for (const node of graph.nodes) {
    const inputs = node.inputs.map((value) => twins.get(value) as Value);
    const outputs = builder.emit(node.op, inputs, node.attributes, node.origin);
    node.outputs.forEach((value, index) => {
      twins.set(value, outputs[index] as Value);
      if (isComputeFloat(value.dtype) && node.op !== "Constant") probes.push({ node, value });
    });
  }
  const flags = withBuilder(builder, () =>
    withoutLines(() =>
      concat(probes.map(({ value }) => reshape(poison(Tensor.of(twins.get(value) as Value, builder)), [1]))),
    ),
  );
  return { graph: builder.finish({ poison: Tensor.valueIn(flags, builder, "probe") }), probes };
}
