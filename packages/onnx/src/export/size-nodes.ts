import type { HostTensor } from "@mp/graph";
import { literals } from "../literals.js";
import { int, type OnnxAttributes, type OnnxInitializer, type OnnxNode, onnxNode } from "../model.js";
import { holdsOneNumber } from "../read/table-values.js";
import { castAttributes } from "../write/unary.js";
import type { OpenSize } from "./export-options.js";
import type { Extent } from "./extent.js";
import type { CountedTable } from "./size-tables.js";

/** Collects nodes that read sizes at run time, and their initializers; the nodes must precede all others. */
export class SizeNodes {
  readonly nodes: OnnxNode[] = [];
  readonly initializers: OnnxInitializer[] = [];
  readonly #open: readonly OpenSize[];
  /** Names of the values that these nodes compute, by a description of the content, to share equal values. */
  readonly #made = new Map<string, string>();

  /** Prefix of all new names; no existing name begins with it. */
  readonly #prefix: string;

  constructor(open: readonly OpenSize[], taken: Iterable<string>) {
    this.#open = open;
    let prefix = "sizes:";
    for (const name of taken) while (name.startsWith(prefix)) prefix += ":";
    this.#prefix = prefix;
  }

  /** Adds an i64 list with these elements. @returns the name of the list */
  list(parts: readonly (number | Extent)[]): string {
    const numbers = parts.filter((part) => typeof part === "number");
    if (numbers.length === parts.length) return this.#numbers(numbers);
    const pieces = parts.map((part) =>
      typeof part === "number" ? this.#numbers([part]) : this.#extent(part),
    );
    return this.#once(`list ${pieces}`, (name) => {
      this.nodes.push(onnxNode("Concat", pieces, [name], { name, attributes: { axis: int(0) } }));
    });
  }

  /** Adds the extent as a scalar. @returns the name of the scalar */
  scalar(extent: Extent, dtype: "i32" | "i64"): string {
    const wide = this.#emit("Squeeze", [this.#extent(extent)]);
    return dtype === "i64" ? wide : this.#emit("Cast", [wide], castAttributes(dtype));
  }

  /** Computes a constant table of shape `parts` at run time. @returns a node that replaces `node` */
  table(node: OnnxNode, { base, counted }: CountedTable, parts: readonly (number | Extent)[]): OnnxNode {
    const { value: _left, ...attributes } = node.attributes;
    const last = (opType: string, inputs: readonly string[]): OnnxNode => ({
      ...node,
      opType,
      inputs,
      attributes,
      metadata: {},
    });
    if (counted.length === 0) return last("Expand", [this.#constant(narrowest(base)), this.list(parts)]);
    const terms = counted.map(({ axis, step }) => {
      const index = this.#index(parts[axis] as Extent, parts.length - axis);
      const term = this.#emit("Mul", [index, this.#constant(narrowest(step))]);
      return base.dtype === "i64" ? term : this.#emit("Cast", [term], castAttributes(base.dtype));
    });
    const sum = terms.reduce((total, term) => this.#emit("Add", [total, term]), this.#constant(base));
    return last("Expand", [sum, this.list(parts)]);
  }

  /** Adds the indices from 0 up to the extent, along the axis that is the `fromEnd`-th from the end. */
  #index(extent: Extent, fromEnd: number): string {
    const count = this.scalar(extent, "i64");
    const [zero, one] = [0n, 1n].map((value) =>
      this.#constant({ dtype: "i64", shape: [], data: BigInt64Array.of(value) }),
    ) as [string, string];
    const range = this.#emit("Range", [zero, count, one]);
    return fromEnd === 1
      ? range
      : this.#emit("Reshape", [range, this.#numbers([-1, ...new Array<number>(fromEnd - 1).fill(1)])]);
  }

  #emit(opType: string, inputs: readonly string[], attributes: OnnxAttributes = {}): string {
    return this.#once(`${opType} ${inputs} ${JSON.stringify(attributes, bigintText)}`, (name) => {
      this.nodes.push(onnxNode(opType, inputs, [name], { name, attributes }));
    });
  }

  #constant(tensor: HostTensor): string {
    const { dtype, shape, data } = tensor;
    const bytes = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
    return this.#once(`${dtype} [${shape}] ${bytes}`, (name) => {
      const attributes = { value: { kind: "tensor", value: tensor } } as const;
      this.nodes.push(onnxNode("Constant", [], [name], { name, attributes }));
    });
  }

  /** Adds the extent as an i64 list of one element. @returns the name of the list */
  #extent({ sizes, factor }: Extent): string {
    const names = sizes.map((size) => this.#size(size));
    if (factor !== 1) names.push(this.#numbers([factor]));
    return names.reduce((product, name) => this.#emit("Mul", [product, name]));
  }

  #size(size: OpenSize): string {
    return this.#once(`size ${this.#open.indexOf(size)}`, (name) => {
      const [{ input, axis }] = size.axes;
      const attributes = { start: int(axis), end: int(axis + 1) };
      this.nodes.push(onnxNode("Shape", [input], [name], { name, attributes }));
    });
  }

  #numbers(values: readonly number[]): string {
    return this.#once(`numbers ${values}`, (name) => {
      this.initializers.push({ name, tensor: literals(values, "i64") });
    });
  }

  #once(content: string, make: (name: string) => void): string {
    const known = this.#made.get(content);
    if (known !== undefined) return known;
    const name = `${this.#prefix}${this.#made.size}`;
    this.#made.set(content, name);
    make(name);
    return name;
  }
}

/** Turns a tensor of equal elements into a scalar, which broadcasts; returns any other tensor unchanged. */
function narrowest(tensor: HostTensor): HostTensor {
  const { dtype, data } = tensor;
  return holdsOneNumber(tensor) ? ({ dtype, shape: [], data: data.slice(0, 1) } as HostTensor) : tensor;
}

const bigintText = (_: string, value: unknown): unknown =>
  typeof value === "bigint" ? String(value) : value;
