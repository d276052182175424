import type { HostTensor } from "@mp/core";
import { literals } from "../literals.js";
import { int, type OnnxInitializer, type OnnxNode, onnxNode } from "../model.js";
import type { OpenSize } from "./export-options.js";

/** Nodes that read sizes at run time, to be put before all others, and their initializers. */
export class SizeNodes {
  readonly nodes: OnnxNode[] = [];
  readonly initializers: OnnxInitializer[] = [];
  readonly #open: readonly OpenSize[];
  /** Names by what they hold. */
  readonly #made = new Map<string, string>();

  /** What the names of its values begin with, and no name that is taken does. */
  readonly #prefix: string;

  constructor(open: readonly OpenSize[], taken: Iterable<string>) {
    this.#open = open;
    let prefix = "sizes:";
    for (const name of taken) while (name.startsWith(prefix)) prefix += ":";
    this.#prefix = prefix;
  }

  /** The name of an i64 list. */
  list(parts: readonly (number | OpenSize)[]): string {
    const numbers = parts.filter((part) => typeof part === "number");
    if (numbers.length === parts.length) return this.#numbers(numbers);
    const pieces = parts.map((part) => (typeof part === "number" ? this.#numbers([part]) : this.#size(part)));
    return this.#once(`list ${pieces}`, (name) => {
      this.nodes.push(onnxNode("Concat", pieces, [name], { name, attributes: { axis: int(0) } }));
    });
  }

  /** The name of the first element of a tensor, as a scalar. */
  one({ dtype, data }: HostTensor): string {
    const element = data.slice(0, 1);
    return this.#once(`${dtype} ${new Uint8Array(element.buffer)}`, (name) => {
      const value = { dtype, shape: [], data: element } as unknown as HostTensor;
      const attributes = { value: { kind: "tensor", value } } as const;
      this.nodes.push(onnxNode("Constant", [], [name], { name, attributes }));
    });
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
