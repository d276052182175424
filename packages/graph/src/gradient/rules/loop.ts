import type { OpOf } from "../../graph/families.js";
import type { Value } from "../../graph/graph.js";
import { add } from "../../trace/ops/binary.js";
import { emitScan } from "../../trace/ops/loop.js";
import { cast } from "../../trace/ops/unary.js";
import type { Tensor } from "../../trace/tensor.js";
import { backwardBody, type StepSource } from "./backward-body.js";
import { type GradientRule, type GradientTable, gradientDType, zeroGradient } from "./rule.js";

/**
 * The gradient is a scan in the opposite direction, over values that the forward scan stacked. The gradient
 * of an invariant is a sum over steps; terms that are matrix products or sums over rows are computed for all
 * steps at once, outside the scan.
 */
const scanGradient: GradientRule<"Scan"> = (site) => {
  const { attributes, inputType } = site;
  const { body, carries, length, reverse } = attributes;
  const backward = backwardBody(attributes, site, site.differentiate);
  const residual = (value: Value): Tensor => {
    const position = body.outputs.findIndex((output, index) => index >= carries && output.value === value);
    if (position < 0)
      throw new Error(`internal: a scan has not stacked %${value.id}, which its gradient reads`);
    return site.output(position);
  };
  const readSource = (source: StepSource): Tensor => {
    if (source.kind === "input") return site.input(source.position);
    if (source.kind === "gradient") return site.gradient(source.position);
    if (source.kind === "residual") return residual(source.value);
    return results[stackedFrom + source.position] as Tensor;
  };
  const accumulated = backward.gradients.filter(({ isAccumulated }) => isAccumulated);
  const starts = [
    ...backward.carries.map((position) => site.gradient(position)),
    ...accumulated.map(({ input }) => zeroGradient({ dtype: "f32", shape: inputType(input).shape })),
  ];
  const stackedFrom = starts.length + backward.elements.length;
  const results: readonly Tensor[] = emitScan(
    {
      starts,
      sequences: backward.sequences.map(readSource),
      invariants: backward.invariants.map((position) => site.input(position)),
    },
    { body: backward.body, length, reverse: !reverse, saved: 0 },
  );
  const gradients: (Tensor | undefined)[] = site.inputTypes.map(() => undefined);
  backward.carries.forEach((position, index) => {
    gradients[position] = results[index];
  });
  backward.elements.forEach((position, index) => {
    gradients[position] = results[starts.length + index];
  });
  for (const { input, terms, isAccumulated } of backward.gradients) {
    const dtype = gradientDType(inputType(input).dtype);
    const sums = terms.map(({ sources, emit }) => emit(sources.map(readSource)));
    const position = backward.carries.length + accumulated.findIndex((other) => other.input === input);
    if (isAccumulated) sums.push(cast(results[position] as Tensor, dtype));
    gradients[input] = sums.reduce(add);
  }
  return gradients;
};

export const loopGradients: GradientTable<OpOf<"loop">> = { Scan: scanGradient };
