/**
 * Einsum as MatMul, Gemm, Mul and ReduceSum, for engines whose kernel for it is missing or wrong. Operands are
 * multiplied in pairs: labels of both become the batch or are summed over, labels of one become rows or columns.
 */

import { type DType, isFloat, isHalf } from "../dtype.js";
import type { Op, OpAttributes } from "../graph/attributes.js";
import type { GraphBuilder } from "../graph/build/builder.js";
import { contractionPath, extent, only, type Pairing } from "../graph/contraction-path.js";
import { type Contraction, readContraction } from "../graph/einsum-equation.js";
import type { AnyNode, Graph, GraphNode, Origin, Value } from "../graph/graph.js";
import { type Shape, sameShape } from "../shape.js";
import { expandNodes } from "./expand-nodes.js";

/** The roles of two operands' labels in their product. */
interface Roles {
  readonly rows: string;
  readonly columns: string;
  readonly summed: string;
}

/** A value and the labels of its axes. */
interface Labeled {
  readonly value: Value;
  readonly labels: string;
}

/**
 * Replaces the chosen Einsum nodes, also in bodies of loops. A graph without any is returned unchanged. An Einsum in a
 * half dtype stays in that dtype if its expansion rounds once; otherwise it is computed in f32 and rounded at the end.
 * @param isExpanded called for each Einsum; default all
 * @param onNode called for each node of the new graph outside of loop bodies, with its name and the node that it is
 *   part of
 */
export function expandEinsums(
  graph: Graph,
  isExpanded?: (node: AnyNode) => boolean,
  onNode?: (made: string, source: AnyNode) => void,
): Graph {
  return expandNodes(graph, ["Einsum"], {
    isExpanded,
    onNode,
    expand: (builder, node, inputs) => [new Expansion(builder, node, inputs).run()],
  });
}

class Expansion {
  readonly #builder: GraphBuilder;
  readonly #origin: Origin;
  readonly #contraction: Contraction;
  readonly #inputs: readonly Value[];

  constructor(builder: GraphBuilder, node: GraphNode<"Einsum">, inputs: readonly Value[]) {
    this.#builder = builder;
    this.#origin = node.origin;
    this.#inputs = inputs;
    const shapes = inputs.map(({ shape }) => shape);
    this.#contraction = readContraction(node.attributes.equation, shapes);
  }

  run(): Value {
    const { alone, pairings } = contractionPath(this.#contraction);
    const { dtype } = this.#inputs[0] as Value;
    const roundings = pairings.length + alone.filter((labels) => labels !== "").length;
    const isWide = isHalf(dtype) && roundings > 1;
    let left = this.#inputs.map((input, index) => {
      const value = isWide ? this.#cast(input, "f32") : input;
      return this.#summed(this.#diagonal(value, index), alone[index] as string);
    });
    for (const pairing of pairings) {
      const product = this.#product(left[pairing.left] as Labeled, left[pairing.right] as Labeled, pairing);
      left = left.with(pairing.left, product).toSpliced(pairing.right, 1);
    }
    const result = this.#ordered(left[0] as Labeled, this.#contraction.output);
    if (isWide) return this.#cast(result, dtype);
    return this.#inputs.includes(result) ? this.#emit("Identity", [result], {}) : result;
  }

  /** An operand without the axes that broadcast, and with the diagonal of each label that it repeats. */
  #diagonal(value: Value, index: number): Labeled {
    const axes = (this.#contraction.operands[index] ?? []).filter((label) => label !== undefined);
    let labels = axes.join("");
    let current = this.#reshaped(value, this.#shapeOf(labels));
    for (const label of new Set(axes)) {
      const count = labels.split(label).length - 1;
      if (count === 1) continue;
      const rest = labels.replaceAll(label, "");
      const inFront = this.#ordered({ value: current, labels }, label.repeat(count) + rest);
      const size = this.#contraction.sizes.get(label) ?? 1;
      const all = size ** count;
      const flat = this.#reshaped(inFront, [all, ...this.#shapeOf(rest)]);
      // The elements of the diagonal are `step` apart in the flat tensor.
      const step = size < 2 ? 1 : (all - 1) / (size - 1);
      current = this.#emit("Slice", [flat], { axes: [0], starts: [0], ends: [all], steps: [step] });
      labels = label + rest;
    }
    return { value: current, labels };
  }

  #summed({ value, labels }: Labeled, over: string): Labeled {
    if (over === "") return { value, labels };
    const axes = [...labels].flatMap((label, axis) => (over.includes(label) ? [axis] : []));
    return {
      value: this.#emit("ReduceSum", [value], { axes, keepdims: false }),
      labels: [...labels].filter((label) => !over.includes(label)).join(""),
    };
  }

  #product(a: Labeled, b: Labeled, { summed: over, result }: Pick<Pairing, "summed" | "result">): Labeled {
    const batch = only(result, (label) => a.labels.includes(label) && b.labels.includes(label));
    const summed = only(a.labels, (label) => over.includes(label));
    const rows = only(a.labels, (label) => !b.labels.includes(label));
    const columns = only(b.labels, (label) => !a.labels.includes(label));
    // The result's own order saves a transposition.
    const { output } = this.#contraction;
    const position = (labels: string): number =>
      Math.min(...[...labels].map((label) => output.indexOf(label)));
    if (rows !== "" && columns !== "" && position(columns) < position(rows))
      return this.#product(b, a, { summed: over, result });
    const value =
      summed === "" || !isFloat(a.value.dtype)
        ? this.#byElements(a, b, { batch, rows, columns, summed })
        : batch === ""
          ? this.#gemm(a, b, { rows, columns, summed })
          : this.#emit(
              "MatMul",
              [this.#grouped(a, [batch, rows, summed]), this.#grouped(b, [batch, summed, columns])],
              {},
            );
    const labels = batch + rows + columns;
    return { value: this.#reshaped(value, this.#shapeOf(labels)), labels };
  }

  /** A product of two matrices; the flags of Gemm save transpositions. */
  #gemm(a: Labeled, b: Labeled, { rows, columns, summed }: Roles): Value {
    const transA = a.labels === summed + rows && rows !== "";
    const transB = b.labels === columns + summed && columns !== "";
    const left = this.#grouped(a, transA ? [summed, rows] : [rows, summed]);
    const right = this.#grouped(b, transB ? [columns, summed] : [summed, columns]);
    return this.#emit("Gemm", [left, right], { transA, transB, alpha: 1, beta: 1 });
  }

  /** Multiplies element by element, for products without a sum and for integers, which Gemm does not take. */
  #byElements(
    a: Labeled,
    b: Labeled,
    { batch, rows, columns, summed }: Roles & { readonly batch: string },
  ): Value {
    const left = this.#reshaped(
      this.#ordered(a, batch + rows + summed),
      [batch, rows, "", summed].map((labels) => this.#extent(labels)),
    );
    const right = this.#reshaped(
      this.#ordered(b, batch + columns + summed),
      [batch, "", columns, summed].map((labels) => this.#extent(labels)),
    );
    const product = this.#emit("Mul", [left, right], {});
    return summed === "" ? product : this.#emit("ReduceSum", [product], { axes: [3], keepdims: false });
  }

  /** Transposes and reshapes so that each group of labels is one axis. */
  #grouped(given: Labeled, groups: readonly string[]): Value {
    return this.#reshaped(
      this.#ordered(given, groups.join("")),
      groups.map((labels) => this.#extent(labels)),
    );
  }

  #ordered({ value, labels }: Labeled, order: string): Value {
    if (labels === order) return value;
    const used = new Set<number>();
    const perm = [...order].map((label) => {
      const axis = [...labels].findIndex((other, at) => other === label && !used.has(at));
      used.add(axis);
      return axis;
    });
    return this.#emit("Transpose", [value], { perm });
  }

  #reshaped(value: Value, shape: Shape): Value {
    return sameShape(value.shape, shape) ? value : this.#emit("Reshape", [value], { shape });
  }

  #shapeOf(labels: string): Shape {
    return [...labels].map((label) => this.#extent(label));
  }

  #extent(labels: string): number {
    return extent(labels, this.#contraction.sizes);
  }

  #cast(value: Value, to: DType): Value {
    return this.#emit("Cast", [value], { to });
  }

  #emit<K extends Op>(op: K, inputs: readonly Value[], attributes: OpAttributes[K]): Value {
    return this.#builder.emitOne(op, inputs, attributes, this.#origin);
  }
}
