import type { AnyNode, DType, Graph, HostTensor } from "@mp/graph";
import type { EmitOptions, NodeWriter, OnnxAttributes, OnnxGraph } from "@mp/onnx/write";
import { type Emission, type KnownType, rangeOfCast, rangeOfScalar, resultTypes } from "./known-types.js";

/** Emits the node with these operands, or a node of another operator; neither is replaced again. */
export type Kernel = (operands: readonly string[], opType?: string, attributes?: OnnxAttributes) => string;

/**
 * Writes other nodes for a node whose kernel is missing or wrong for its dtypes; undefined if the kernel is
 * right. Nodes from `writer` may be replaced in turn, those from `kernel` are not.
 */
export type Replacement = (
  emission: Emission,
  writer: NodeWriter,
  kernel: Kernel,
) => readonly string[] | undefined;

/** Replacements by ONNX operator. */
export type Replacements = Readonly<Record<string, Replacement>>;

/** A writer that knows the types of all names in a model, and applies replacements to the nodes that it is given. */
export class KernelWriter implements NodeWriter {
  readonly #writer: NodeWriter;
  readonly #known: Map<string, KnownType>;
  readonly #replacements: Replacements;

  /** @param known types of the names so far; new names are added */
  constructor(writer: NodeWriter, known: Map<string, KnownType>, replacements: Replacements) {
    this.#writer = writer;
    this.#known = known;
    this.#replacements = replacements;
  }

  get keepsOwnOps(): boolean {
    return this.#writer.keepsOwnOps;
  }

  /** Records the types of a node's operands, before the node is written, or of its results, afterwards. */
  know(values: AnyNode["inputs"], names: readonly string[]): void {
    values.forEach(({ dtype, shape }, index) => {
      const name = names[index];
      if (name !== undefined) this.#made(name, { dtype, shape, range: this.#known.get(name)?.range });
    });
  }

  emit(
    opType: string,
    inputs: readonly string[],
    attributes: OnnxAttributes = {},
    options: EmitOptions = {},
  ): readonly string[] {
    const describeEmission = (operands: readonly string[], given: OnnxAttributes): Emission => {
      const types = operands.map((name) => this.#known.get(name));
      return {
        inputs: operands,
        attributes: given,
        options,
        dtypes: types.map((type) => type?.dtype),
        shapes: types.map((type) => type?.shape),
        ranges: types.map((type) => type?.range),
      };
    };
    const emission = describeEmission(inputs, attributes);
    const kernel: Kernel = (operands, op = opType, given = op === opType ? attributes : {}) =>
      first(op, this.#written(op, describeEmission(operands, given)));
    const replaced = this.#replacements[opType]?.(emission, this, kernel);
    return replaced === undefined
      ? this.#written(opType, emission)
      : this.#knownAs(opType, emission, replaced);
  }

  one(opType: string, inputs: readonly string[], attributes?: OnnxAttributes, options?: EmitOptions): string {
    return first(opType, this.emit(opType, inputs, attributes, options));
  }

  cast(name: string, to: DType): string {
    const type = this.#known.get(name);
    if (type?.dtype === to) return name;
    return this.#made(this.#writer.cast(name, to), {
      dtype: to,
      shape: type?.shape,
      range: rangeOfCast(type?.dtype),
    });
  }

  initializer(tensor: HostTensor): string {
    return this.#made(this.#writer.initializer(tensor), tensor);
  }

  unsigned(values: Uint32Array<ArrayBuffer>, shape: readonly number[]): string {
    return this.#writer.unsigned(values, shape);
  }

  ints(values: readonly number[]): string {
    return this.#made(this.#writer.ints(values), { dtype: "i64", shape: undefined });
  }

  scalar(value: number, dtype: DType): string {
    return this.#made(this.#writer.scalar(value, dtype), {
      dtype,
      shape: [],
      range: rangeOfScalar(value, dtype),
    });
  }

  list(values: readonly number[], dtype: DType): string {
    return this.#made(this.#writer.list(values, dtype), { dtype, shape: [values.length] });
  }

  body(graph: Graph, given: readonly string[]): OnnxGraph {
    return this.#writer.body(graph, given);
  }

  unread(wanted: string): string {
    return this.#writer.unread(wanted);
  }

  #written(opType: string, emission: Emission): readonly string[] {
    const results = this.#writer.emit(opType, emission.inputs, emission.attributes, emission.options);
    return this.#knownAs(opType, emission, results);
  }

  #knownAs(opType: string, emission: Emission, results: readonly string[]): readonly string[] {
    const made = resultTypes(opType, emission);
    results.forEach((name, index) => {
      const type = made[index];
      if (type !== undefined) this.#known.set(name, type);
    });
    return results;
  }

  #made(name: string, { dtype, shape, range }: KnownType): string {
    this.#known.set(name, { dtype, shape, range });
    return name;
  }
}

function first(opType: string, [result]: readonly string[]): string {
  if (result === undefined) throw new Error(`internal: ${opType} has no output`);
  return result;
}
