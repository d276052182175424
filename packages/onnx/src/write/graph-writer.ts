import type { AnyNode, DType, Graph, HostTensor } from "@mp/graph";
import { literals } from "../literals.js";
import { HELPER_KEY, NODE_KEY } from "../metadata-keys.js";
import {
  type OnnxAttributes,
  type OnnxGraph,
  type OnnxInitializer,
  type OnnxNode,
  onnxNode,
  type StringMap,
} from "../model.js";
import type { EmitOptions, NodeWriter } from "./lowering.js";
import { castAttributes } from "./unary.js";

/** Makes names unique by a number. Replaces zero bytes, at which ONNX Runtime would end a name. */
export class Names {
  readonly #taken = new Set<string>();

  claim(wanted: string): string {
    const text = wanted.replaceAll("\0", "~");
    let name = text;
    for (let count = 1; this.#taken.has(name); count++) name = `${text}~${count}`;
    this.#taken.add(name);
    return name;
  }
}

/** State that a model's graph and its bodies share: names are unique in the whole model. */
export class ModelParts {
  readonly values: Names = new Names();
  readonly nodes: Names = new Names();
  /** Initializers of the model's graph, which bodies read too. */
  readonly initializers: OnnxInitializer[] = [];
  /** Names of initializers, by content. */
  readonly known: Map<string, string> = new Map();
}

/** Writes the body of a node. The body's last inputs are the outer values with the names `given`. */
export type WriteBody = (body: Graph, path: string, given: readonly string[]) => OnnxGraph;

/** Collects the ONNX nodes for a graph, one graph node after another. */
export class GraphWriter implements NodeWriter {
  readonly keepsOwnOps: boolean;
  readonly nodes: OnnxNode[] = [];
  readonly #parts: ModelParts;
  readonly #writeBody: WriteBody;
  /** The names of the graph's nodes in the model. */
  readonly #names: ReadonlyMap<AnyNode, string>;
  #node: AnyNode | undefined;
  #metadata: StringMap = {};
  #hasOwnName = false;

  /** @param path prefix of all node names: for a body, the path of the node that has it; else empty */
  constructor(
    parts: ModelParts,
    nodes: readonly AnyNode[],
    { path, keepsOwnOps, writeBody }: { path: string; keepsOwnOps: boolean; writeBody: WriteBody },
  ) {
    this.#parts = parts;
    this.#writeBody = writeBody;
    this.keepsOwnOps = keepsOwnOps;
    this.#names = new Map(
      nodes.map((node) => [node, parts.nodes.claim(path === "" ? node.name : `${path}/${node.name}`)]),
    );
  }

  /** Starts a graph node: nodes emitted after this call belong to it and carry the metadata. */
  begin(node: AnyNode, metadata: StringMap): void {
    this.#node = node;
    this.#metadata = metadata;
    this.#hasOwnName = false;
  }

  emit(
    opType: string,
    inputs: readonly string[],
    attributes: OnnxAttributes = {},
    { domain = "", outputs = 1, metadata: extra = {} }: EmitOptions = {},
  ): readonly string[] {
    const node = this.#node;
    if (node === undefined) throw new Error("internal: emit outside a node");
    const isMain = opType === node.op && !this.#hasOwnName;
    if (isMain) this.#hasOwnName = true;
    const own = this.#ownName(node);
    const name = isMain ? own : this.#parts.nodes.claim(`${own}.${opType}`);
    const results = Array.from({ length: outputs }, (_, index) =>
      this.#parts.values.claim(index === 0 ? name : `${name}:${index}`),
    );
    const metadata = {
      ...this.#metadata,
      ...extra,
      ...(name === node.name ? {} : { [NODE_KEY]: node.name }),
      ...(isMain ? {} : { [HELPER_KEY]: "1" }),
    };
    this.nodes.push(onnxNode(opType, inputs, results, { domain, name, attributes, metadata }));
    return results;
  }

  body(graph: Graph, given: readonly string[]): OnnxGraph {
    const node = this.#node;
    if (node === undefined) throw new Error("internal: body outside a node");
    return this.#writeBody(graph, this.#ownName(node), given);
  }

  unread(wanted: string): string {
    return this.#parts.values.claim(wanted);
  }

  #ownName(node: AnyNode): string {
    return this.#names.get(node) ?? node.name;
  }

  one(opType: string, inputs: readonly string[], attributes?: OnnxAttributes, options?: EmitOptions): string {
    const [result] = this.emit(opType, inputs, attributes, options);
    if (result === undefined) throw new Error(`internal: ${opType} has no output`);
    return result;
  }

  cast(name: string, to: DType): string {
    return this.one("Cast", [name], castAttributes(to));
  }

  initializer(tensor: HostTensor): string {
    return this.#initializer({ tensor });
  }

  unsigned(values: Uint32Array<ArrayBuffer>, shape: readonly number[]): string {
    const words = new Int32Array(values.buffer, values.byteOffset, values.length);
    return this.#initializer({ tensor: { dtype: "i32", shape, data: words }, elementType: "UINT32" });
  }

  #initializer(initializer: Omit<OnnxInitializer, "name">): string {
    const { tensor, elementType = tensor.dtype } = initializer;
    const content = `${elementType} [${tensor.shape}] ${bitText(tensor.data)}`;
    const { known, initializers, values } = this.#parts;
    const made = known.get(content);
    if (made !== undefined) return made;
    const name = values.claim(`constant:${initializers.length}`);
    known.set(content, name);
    initializers.push({ name, ...initializer });
    return name;
  }

  ints(values: readonly number[]): string {
    return this.list(values, "i64");
  }

  scalar(value: number, dtype: DType): string {
    return this.initializer(literals([value], dtype, []));
  }

  list(values: readonly number[], dtype: DType): string {
    return this.initializer(literals(values, dtype));
  }
}

/** The bytes as text, so that 0 and -0 differ and NaN equals itself. */
function bitText({ buffer, byteOffset, byteLength }: HostTensor["data"]): string {
  return new Uint8Array(buffer, byteOffset, byteLength).join();
}
