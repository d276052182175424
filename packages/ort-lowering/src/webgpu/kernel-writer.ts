import type { DType, HostTensor } from "@mp/core";
import type { AnyNode, Graph } from "@mp/core/graph";
import type { EmitOptions, NodeWriter, OnnxAttributes, OnnxGraph } from "@mp/onnx/write";

/** A node that a lowering emits, before it is known whether the device has a kernel for it. */
export interface Emission {
  readonly inputs: readonly string[];
  readonly attributes: OnnxAttributes;
  readonly options: EmitOptions;
  /** Of the inputs. Undefined where a dtype is not known, of an input that is left out for example. */
  readonly dtypes: readonly (DType | undefined)[];
}

/**
 * Other nodes for one that has no kernel, or a wrong one, with these dtypes. They are written through the same writer, so
 * that they may need replacing as well. Undefined where the kernel is right.
 */
export type Replacement = (emission: Emission, writer: NodeWriter) => readonly string[] | undefined;

/** By ONNX's operator. */
export type Replacements = Readonly<Record<string, Replacement>>;

/** ONNX's numbers for the dtypes that Cast makes here. */
const DTYPE_OF_CODE: ReadonlyMap<bigint, DType> = new Map([
  [1n, "f32"],
  [2n, "u8"],
  [6n, "i32"],
  [7n, "i64"],
  [9n, "bool"],
  [10n, "f16"],
  [13n, "u64"],
  [16n, "bf16"],
]);

const BOOLS: ReadonlySet<string> = new Set([
  ...["Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual"],
  ...["And", "Or", "Xor", "Not", "IsNaN", "IsInf"],
]);
const INDICES: ReadonlySet<string> = new Set(["ArgMax", "ArgMin", "Shape", "NonZero"]);

/** The dtypes of a node's outputs. */
function resultDTypes(
  opType: string,
  { dtypes, attributes, options }: Emission,
): readonly (DType | undefined)[] {
  const [first] = dtypes;
  const { outputs = 1 } = options;
  if (BOOLS.has(opType)) return ["bool"];
  if (INDICES.has(opType)) return ["i64"];
  if (opType === "TopK" || opType === "MaxPool") return [first, "i64"];
  if (opType === "Where") return [dtypes[1]];
  if (opType === "OneHot") return [dtypes[2]];
  const { to, value } = attributes;
  if (opType === "Cast" && to?.kind === "int") return [DTYPE_OF_CODE.get(BigInt(to.value))];
  if (opType === "Constant" && value?.kind === "tensor") return [value.value.dtype];
  return Array.from({ length: outputs }, () => first);
}

/**
 * A writer that knows the dtypes of the names in one model, and writes other nodes in place of those for which the
 * device has no kernel.
 */
export class KernelWriter implements NodeWriter {
  readonly #writer: NodeWriter;
  readonly #dtypes: Map<string, DType>;
  readonly #replacements: Replacements;

  /** @param dtypes of the names so far; names that are written are added */
  constructor(writer: NodeWriter, dtypes: Map<string, DType>, replacements: Replacements) {
    this.#writer = writer;
    this.#dtypes = dtypes;
    this.#replacements = replacements;
  }

  get keepsOwnOps(): boolean {
    return this.#writer.keepsOwnOps;
  }

  /** What a node reads and makes: its operands' names and, when it is written, its results'. */
  know(values: AnyNode["inputs"], names: readonly string[]): void {
    values.forEach(({ dtype }, index) => {
      const name = names[index];
      if (name !== undefined) this.#dtypes.set(name, dtype);
    });
  }

  emit(
    opType: string,
    inputs: readonly string[],
    attributes: OnnxAttributes = {},
    options: EmitOptions = {},
  ): readonly string[] {
    const dtypes = inputs.map((name) => this.#dtypes.get(name));
    const emission: Emission = { inputs, attributes, options, dtypes };
    const replaced = this.#replacements[opType]?.(emission, this);
    if (replaced !== undefined) return replaced;
    const results = this.#writer.emit(opType, inputs, attributes, options);
    const made = resultDTypes(opType, emission);
    results.forEach((name, index) => {
      const dtype = made[index];
      if (dtype !== undefined) this.#dtypes.set(name, dtype);
    });
    return results;
  }

  one(opType: string, inputs: readonly string[], attributes?: OnnxAttributes, options?: EmitOptions): string {
    const [result] = this.emit(opType, inputs, attributes, options);
    if (result === undefined) throw new Error(`internal: ${opType} has no output`);
    return result;
  }

  cast(name: string, to: DType): string {
    if (this.#dtypes.get(name) === to) return name;
    return this.#made(this.#writer.cast(name, to), to);
  }

  initializer(tensor: HostTensor): string {
    return this.#made(this.#writer.initializer(tensor), tensor.dtype);
  }

  unsigned(values: Uint32Array<ArrayBuffer>, shape: readonly number[]): string {
    return this.#writer.unsigned(values, shape);
  }

  ints(values: readonly number[]): string {
    return this.#made(this.#writer.ints(values), "i64");
  }

  scalar(value: number, dtype: DType): string {
    return this.#made(this.#writer.scalar(value, dtype), dtype);
  }

  list(values: readonly number[], dtype: DType): string {
    return this.#made(this.#writer.list(values, dtype), dtype);
  }

  body(graph: Graph, given: readonly string[]): OnnxGraph {
    return this.#writer.body(graph, given);
  }

  unread(wanted: string): string {
    return this.#writer.unread(wanted);
  }

  #made(name: string, dtype: DType): string {
    this.#dtypes.set(name, dtype);
    return name;
  }
}
