import {
  type AddingOp,
  type ComputeDType,
  type Graph,
  GraphBuilder,
  type HostTensor,
  isFloat,
  type OpAttributes,
  type Value,
} from "@mp/graph";
import { accumulatorOf } from "@mp/graph/internal";
import { evaluate } from "@mp/graph/reference";
import { manifestAllowance } from "../../compare/allowance.js";
import { compareTensors } from "../../compare/compare-tensors.js";
import type { ConformanceCase } from "../../conformance-case.js";
import { fail } from "../../expectations.js";
import { fresh } from "../../fresh.js";
import { hostData, toNumbers } from "../../host-data.js";
import { runGraph, type Tensors } from "./graph-case.js";
import { looseProblem } from "./loose-sum.js";
import { scriptedCase } from "./scripted-case.js";

export interface Sum<K extends AddingOp> {
  readonly op: K;
  readonly attributes: OpAttributes[K];
  readonly inputs: readonly HostTensor[];
  /** Emits nodes between an input and the op; default none. */
  readonly before?: (builder: GraphBuilder, operand: Value, index: number) => Value;
}

/**
 * Requires the oracle's result if the manifest says that the dtype accumulates in f32. If it declares a half
 * dtype, partial sums in that half dtype must be able to give the result.
 */
export function sumCase<K extends AddingOp>(
  id: string,
  dtype: ComputeDType,
  { op, attributes, inputs, before = (_, operand) => operand }: Sum<K>,
): ConformanceCase {
  const graphOn = (operands: readonly HostTensor[]): Graph => {
    const builder = new GraphBuilder();
    const values = operands.map((tensor, index) =>
      before(builder, builder.input(`x${index}`, tensor, "batch"), index),
    );
    return builder.finish({ y: builder.emitOne(op, values, attributes) });
  };
  const graph = graphOn(inputs);
  const nameInputs = (operands: readonly HostTensor[]): Tensors =>
    Object.fromEntries(operands.map((tensor, index) => [`x${index}`, tensor]));
  const oracle = (operands: readonly HostTensor[]): HostTensor =>
    evaluate(graphOn(operands), nameInputs(operands))["y"] as HostTensor;
  /** The operands, floats in f32 after `change` has been applied to each element. */
  const wide = (change: (x: number) => number): readonly HostTensor[] =>
    inputs.map((tensor) =>
      isFloat(tensor.dtype) ? hostData("f32", toNumbers(tensor).map(change), tensor.shape) : tensor,
    );
  return scriptedCase(id, graph, async (backend) => {
    const { y } = await runGraph(backend, graph, nameInputs(fresh(inputs)));
    const problem =
      accumulatorOf(backend.manifest, op, dtype) === "f32"
        ? compareTensors(y, oracle(inputs), manifestAllowance(backend.manifest, op, dtype))
        : looseProblem(op, dtype, {
            got: y,
            want: oracle(wide((x) => x)),
            magnitudes: oracle(wide(Math.abs)),
            terms: inputs[0] as HostTensor,
          });
    if (problem !== undefined)
      fail(`${op} in ${dtype}, which sums in ${accumulatorOf(backend.manifest, op, dtype)}, ${problem}`);
  });
}
