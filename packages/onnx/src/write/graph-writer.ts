import type { DType, HostTensor } from "@mp/core";
import type { AnyNode } from "@mp/core/graph";
import { literals } from "../literals.js";
import {
  type OnnxAttributes,
  type OnnxInitializer,
  type OnnxNode,
  onnxNode,
  type StringMap,
} from "../model.js";
import { castAttributes } from "./elementwise.js";
import type { EmitOptions, NodeWriter } from "./lowering.js";
import { HELPER_KEY, NODE_KEY } from "./metadata-keys.js";

/** Names given out so far; a taken one gets a number. */
export class Names {
  readonly #taken = new Set<string>();

  claim(wanted: string): string {
    let name = wanted;
    for (let count = 1; this.#taken.has(name); count++) name = `${wanted}~${count}`;
    this.#taken.add(name);
    return name;
  }
}

/** Collects the ONNX nodes of a graph, node of ours by node of ours. */
export class GraphWriter implements NodeWriter {
  readonly keepsOwnOps: boolean;
  readonly nodes: OnnxNode[] = [];
  readonly initializers: OnnxInitializer[] = [];
  readonly #values: Names;
  readonly #nodeNames = new Names();
  readonly #known = new Map<string, string>();
  #node: AnyNode | undefined;
  #metadata: StringMap = {};
  #hasOwnName = false;

  /** @param values names of values that are taken; initializers and outputs get theirs from it */
  constructor(values: Names, nodes: readonly AnyNode[], keepsOwnOps: boolean) {
    this.#values = values;
    this.keepsOwnOps = keepsOwnOps;
    for (const { name } of nodes) this.#nodeNames.claim(name);
  }

  /** What is emitted from here on stands for that node and carries that metadata. */
  begin(node: AnyNode, metadata: StringMap): void {
    this.#node = node;
    this.#metadata = metadata;
    this.#hasOwnName = false;
  }

  emit(
    opType: string,
    inputs: readonly string[],
    attributes: OnnxAttributes = {},
    { domain = "", outputs = 1 }: EmitOptions = {},
  ): readonly string[] {
    const node = this.#node;
    if (node === undefined) throw new Error("internal: emit outside a node");
    const isMain = opType === node.op && !this.#hasOwnName;
    if (isMain) this.#hasOwnName = true;
    const name = isMain ? node.name : this.#nodeNames.claim(`${node.name}.${opType}`);
    const results = Array.from({ length: outputs }, (_, index) =>
      this.#values.claim(index === 0 ? name : `${name}:${index}`),
    );
    const metadata = isMain
      ? this.#metadata
      : { ...this.#metadata, [NODE_KEY]: node.name, [HELPER_KEY]: "1" };
    this.nodes.push(onnxNode(opType, inputs, results, { domain, name, attributes, metadata }));
    return results;
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
    const { dtype, shape, data } = tensor;
    const content = `${dtype} [${shape}] ${bitsOf(data)}`;
    const known = this.#known.get(content);
    if (known !== undefined) return known;
    const name = this.#values.claim(`constant:${this.initializers.length}`);
    this.#known.set(content, name);
    this.initializers.push({ name, tensor });
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

/** Bits and not numbers: 0 and -0 differ, NaN equals itself. */
function bitsOf({ buffer, byteOffset, byteLength }: HostTensor["data"]): string {
  return new Uint8Array(buffer, byteOffset, byteLength).join();
}
