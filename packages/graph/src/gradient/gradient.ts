/**
 * Reverse-mode differentiation, graph to graph. Backward nodes are appended in the reverse order of the forward nodes;
 * the rule of a node is emitted once the gradient of its output is complete. Contributions to a gradient are summed as
 * they come, so that no more than two contributions are alive. Only nodes between `wrt` and the loss are visited.
 */
import { MpError } from "../errors.js";
import type { Op } from "../graph/attributes.js";
import type { GraphBuilder } from "../graph/build/builder.js";
import { formatType } from "../graph/format-type.js";
import { type AnyNode, isNode, type Origin, type Value } from "../graph/graph.js";
import { sameShape } from "../shape.js";
import { add, maximum } from "../trace/ops/binary.js";
import { Tensor } from "../trace/tensor.js";
import { withBuilder, withoutLines } from "../trace/trace.js";
import { ForwardValues } from "./forward-values.js";
import { activeValues, gradientRow } from "./gradient-cuts.js";
import { customResults } from "./rules/custom.js";
import type { EmittedGradient, GradientRequest } from "./rules/gradient-request.js";
import { type GradientSite, gradientDType, zeroGradient } from "./rules/rule.js";

/**
 * Appends the backward pass to the builder and returns the gradient of each value in `wrt`.
 * @throws MP_NOT_DIFFERENTIABLE if the path to the loss contains an op without a gradient, naming it
 */
export function emitGradient(builder: GraphBuilder, request: GradientRequest): readonly EmittedGradient[] {
  return withBuilder(builder, () => withoutLines(() => new BackwardPass(builder, request).run()));
}

class BackwardPass {
  readonly #builder: GraphBuilder;
  readonly #request: GradientRequest;
  readonly #forward: ForwardValues;
  /** Values that depend on `wrt` along a path on which gradients flow. */
  readonly #active: ReadonlySet<Value>;
  readonly #gradients = new Map<Value, Tensor>();
  readonly #wrt: ReadonlySet<Value>;
  /** The builder's previous origin; its segment encloses the whole differentiated function. */
  readonly #outer: Origin;

  constructor(builder: GraphBuilder, request: GradientRequest) {
    this.#builder = builder;
    this.#request = request;
    this.#outer = builder.origin;
    this.#wrt = new Set(request.wrt);
    this.#active = activeValues(request.graph, this.#wrt);
    this.#forward = new ForwardValues(builder, request.graph, request.values, (node) => this.#origin(node));
  }

  run(): readonly EmittedGradient[] {
    const { graph, seeds, wrt } = this.#request;
    for (const [value, gradient] of seeds) {
      const sum = this.#gradients.get(value);
      const seed = Tensor.of(gradient);
      if (this.#active.has(value)) this.#gradients.set(value, sum === undefined ? seed : add(sum, seed));
    }
    try {
      for (const node of graph.nodes.toReversed()) this.#visit(node);
      this.#builder.origin = { ...this.#outer, phase: "backward" };
      return wrt.map((value) => {
        const gradient = this.#gradients.get(value);
        const isReached = gradient !== undefined;
        return {
          value: Tensor.valueIn(gradient ?? zeroGradient(value), this.#builder, "gradient"),
          isReached,
        };
      });
    } finally {
      this.#builder.origin = this.#outer;
    }
  }

  #visit(node: AnyNode): void {
    const results = customResults(node);
    const gate = results.map((result) => this.#gradients.get(result)).find((gradient) => gradient);
    if (gate === undefined || !node.inputs.some((input) => this.#active.has(input))) return;
    this.#builder.origin = this.#origin(node);
    const row = gradientRow(node);
    if ("zero" in row) return;
    if ("notDifferentiable" in row) throw notDifferentiable(node, row.notDifferentiable);
    const contributions = row(this.#site(node, gate));
    // A custom rule consumes its results' gradients, even those in `wrt`: the nodes that made the results get none.
    const isConsumed = (result: Value): boolean => node.origin.custom !== undefined || !this.#wrt.has(result);
    for (const result of results) if (isConsumed(result)) this.#gradients.delete(result);
    node.inputs.forEach((input, index) => {
      const contribution = contributions[index];
      if (contribution !== undefined && this.#active.has(input)) this.#contribute(node, input, contribution);
    });
  }

  #contribute(node: AnyNode, input: Value, contribution: Tensor): void {
    if (contribution.dtype !== gradientDType(input.dtype) || !sameShape(contribution.shape, input.shape)) {
      throw new Error(
        `internal: the gradient rule of ${node.op} gives ${formatType(contribution)} for ${formatType(input)}`,
      );
    }
    const sum = this.#gradients.get(input);
    const combine = this.#request.maxima?.has(input) === true ? maximum : add;
    this.#gradients.set(input, sum === undefined ? contribution : combine(sum, contribution));
  }

  #site(node: AnyNode, gate: Tensor): GradientSite<Op> {
    const operand = (values: readonly Value[], index: number): Value => {
      const value = values[index];
      if (value === undefined)
        throw new Error(`internal: the gradient rule of ${node.op} reads operand ${index}`);
      return value;
    };
    const read = (value: Value): Tensor => {
      const gateValue = Tensor.valueIn(gate, this.#builder, "gradient");
      return Tensor.of(this.#forward.read(value, node, gateValue));
    };
    const results = customResults(node);
    const zeros = new Map<number, Tensor>();
    return {
      attributes: node.attributes,
      inputTypes: node.inputs,
      inputType: (index) => operand(node.inputs, index),
      outputTypes: node.outputs,
      input: (index) => read(operand(node.inputs, index)),
      output: (index) => read(operand(node.outputs, index)),
      gradient: (index) => {
        const output = operand(results, index);
        const gradient = this.#gradients.get(output) ?? zeros.get(index) ?? zeroGradient(output);
        zeros.set(index, gradient);
        return gradient;
      },
      receives: (index) => this.#gradients.has(operand(results, index)),
      needs: (index) => this.#active.has(operand(node.inputs, index)),
      same: (a, b) => operand(node.inputs, a) === operand(node.inputs, b),
      literal: (index) => {
        const producer = this.#forward.producer(operand(node.inputs, index));
        return producer !== undefined && isNode(producer, "Constant")
          ? producer.attributes.literal
          : undefined;
      },
      differentiate: emitGradient,
      refuse: (reason) => {
        throw notDifferentiable(node, reason);
      },
    };
  }

  /** The origin of a node's backward nodes; their segment is the one that encloses the whole function, if any. */
  #origin({ name, origin }: AnyNode): Origin {
    const { segment: _left, custom: _rule, ...rest } = origin;
    const { segment } = this.#outer;
    const forward = this.#request.names.get(name) ?? name;
    return { ...rest, phase: "backward", forward, ...(segment === undefined ? {} : { segment }) };
  }
}

function notDifferentiable(node: AnyNode, reason: string): MpError<"MP_NOT_DIFFERENTIABLE"> {
  const { line, scope, custom } = node.origin;
  const [what, where] = custom === undefined ? [node.op, `; node ${node.name}`] : ["customGradient", ""];
  return new MpError(
    "MP_NOT_DIFFERENTIABLE",
    `${what}: no gradient for ${reason}${where}${line === undefined ? "" : ` (at ${line})`}`,
    { details: { op: node.op, node: node.name, reason, scope, ...(line === undefined ? {} : { line }) } },
  );
}
