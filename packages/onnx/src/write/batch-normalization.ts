// ONNX has batch normalization in training, but not its gradient, and engines for inference have neither.
// Both are composed of means and of ONNX's normalization by given statistics, which applies a scale and an
// offset to each channel in one pass. Everything is computed in f32.

import { type DType, type GraphNode, type OpOf, type Shape, zeros } from "@mp/graph";
import { float, int } from "../model.js";
import { OWN_DOMAIN } from "../own-domain.js";
import { type Lowering, type LoweringTable, type NodeWriter, operandAt, typeAt } from "./lowering.js";
import { product } from "./product.js";

/** The most images that cuDNN normalizes by given statistics in one call. */
const MOST_IMAGES = 65_535;

/** Writes arithmetic per channel on a node's operands, cast to f32. */
class Channels {
  readonly #node: GraphNode<OpOf<"batch-normalization">>;
  readonly #operands: readonly string[];
  readonly #writer: NodeWriter;
  readonly #shape: Shape;

  constructor(node: GraphNode<OpOf<"batch-normalization">>, operands: readonly string[], writer: NodeWriter) {
    this.#node = node;
    this.#operands = operands;
    this.#writer = writer;
    this.#shape = typeAt(node, 0).shape;
  }

  get count(): number {
    return product(this.#shape) / (this.#shape[1] ?? 1);
  }

  operand(index: number): string {
    const name = operandAt(this.#operands, index);
    return typeAt(this.#node, index).dtype === "f32" ? name : this.#writer.cast(name, "f32");
  }

  two(op: "Add" | "Sub" | "Mul", a: string, b: string): string {
    return this.#writer.one(op, [a, b]);
  }

  number(value: number): string {
    return this.#writer.scalar(value, "f32");
  }

  /** Mean per channel of x, [N, C, d…]. Planes are reduced first, because engines are fastest on the last axis. */
  mean(x: string): string {
    const [batch = 1, channels = 1, ...rest] = this.#shape;
    const plane = product(rest);
    const flat =
      rest.length < 2 ? x : this.#writer.one("Reshape", [x, this.#writer.ints([batch, channels, plane])]);
    const dropped = { keepdims: int(0) };
    const planes =
      rest.length === 0 ? x : this.#writer.one("ReduceMean", [flat, this.#writer.ints([2])], dropped);
    return this.#writer.one("ReduceMean", [planes, this.#writer.ints([0])], dropped);
  }

  /** Reshapes a statistic, [C], to broadcast with [N, C, d…]. */
  each(statistic: string): string {
    const [, channels = 1, ...rest] = this.#shape;
    if (rest.length === 0) return statistic;
    return this.#writer.one("Reshape", [statistic, this.#writer.ints([channels, ...rest.map(() => 1)])]);
  }

  /** Zeros, [C], by a Constant node, because readers would take an initializer for a parameter. */
  zeros(): string {
    const value = zeros([this.#shape[1] ?? 1]);
    return this.#writer.one("Constant", [], { value: { kind: "tensor", value } });
  }

  /** (x - mean) · scale / √(variance + ε) + bias, in one node unless there are more than `MOST_IMAGES`. */
  normalize(x: string, [scale, bias, mean, variance]: readonly [string, string, string, string]): string {
    const { epsilon } = this.#node.attributes;
    if ((this.#shape[0] ?? 0) > MOST_IMAGES) {
      const factor = this.two("Mul", scale, this.inverseDeviation(variance));
      const difference = this.two("Sub", x, this.each(mean));
      return this.two("Add", this.two("Mul", difference, this.each(factor)), this.each(bias));
    }
    return this.#writer.one("BatchNormalization", [x, scale, bias, mean, variance], {
      epsilon: float(epsilon),
    });
  }

  /** 1 / √(variance + ε). */
  inverseDeviation(variance: string): string {
    const shifted = this.two("Add", variance, this.number(this.#node.attributes.epsilon));
    return this.#writer.one("Reciprocal", [this.#writer.one("Sqrt", [shifted])]);
  }

  result(name: string): string {
    const dtype: DType = this.#node.outputs[0]?.dtype ?? "f32";
    return dtype === "f32" ? name : this.#writer.cast(name, dtype);
  }
}

/** Computes the variance from deviations from the mean, so that a large mean loses no precision. */
const decompose: Lowering<"BatchNormalization"> = (node, operands, writer) => {
  const channels = new Channels(node, operands, writer);
  const x = channels.operand(0);
  const mean = channels.mean(x);
  const difference = channels.two("Sub", x, channels.each(mean));
  const variance = channels.mean(channels.two("Mul", difference, difference));
  const parts = [channels.operand(1), channels.operand(2), channels.zeros(), variance] as const;
  return [channels.result(channels.normalize(difference, parts)), mean, variance];
};

/** dx = scale · r · (dy - mean(dy) - (x - mean) · r² · mean(dy · (x - mean))), r = 1 / √(variance + ε). */
const decomposeGradient: Lowering<"BatchNormalizationGradient"> = (node, operands, writer) => {
  const channels = new Channels(node, operands, writer);
  const [dy, x] = [channels.operand(0), channels.operand(1)];
  const variance = channels.operand(4);
  const inverse = channels.inverseDeviation(variance);
  if (channels.count === 0) {
    const [dx] = node.outputs.map(({ shape, dtype }) => writer.initializer(zeros(shape, dtype)));
    return [dx ?? "", channels.two("Mul", inverse, channels.zeros()), channels.zeros()];
  }
  const difference = channels.two("Sub", x, channels.each(channels.operand(3)));
  const shift = channels.mean(dy);
  const slope = channels.two("Mul", channels.mean(channels.two("Mul", dy, difference)), inverse);
  const tilt = channels.two("Mul", difference, channels.each(channels.two("Mul", slope, inverse)));
  const parts = [channels.operand(2), channels.zeros(), shift, variance] as const;
  const dx = channels.normalize(channels.two("Sub", dy, tilt), parts);
  const count = channels.number(channels.count);
  return [channels.result(dx), channels.two("Mul", slope, count), channels.two("Mul", shift, count)];
};

export const batchNormalizationLowerings: LoweringTable<OpOf<"batch-normalization">> = {
  /**
   * With `keepsOwnOps`, writes ONNX's op in training mode; with a momentum of 0 its running outputs are the
   * batch's statistics. Engines may write the running outputs over the node's operands (ONNX Runtime 1.30
   * does, even over constants that other nodes read), so a model that is to run gets the decomposition.
   */
  BatchNormalization: (node, operands, writer) => {
    if (!writer.keepsOwnOps) return decompose(node, operands, writer);
    const { epsilon } = node.attributes;
    const none = writer.list(new Array<number>(node.inputs[1]?.shape[0] ?? 1).fill(0), "f32");
    const attributes = { epsilon: float(epsilon), momentum: float(0), training_mode: int(1) };
    return writer.emit("BatchNormalization", [...operands, none, none], attributes, { outputs: 3 });
  },
  BatchNormalizationGradient: (node, operands, writer) => {
    if (!writer.keepsOwnOps) return decomposeGradient(node, operands, writer);
    const attributes = { epsilon: float(node.attributes.epsilon) };
    return writer.emit("BatchNormalizationGradient", operands, attributes, {
      domain: OWN_DOMAIN,
      outputs: 3,
    });
  },
};
