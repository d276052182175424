// Graphs have static shapes, so a size that a file leaves open is found by comparison. The model is written at several
// sizes, and the files may differ only in numbers that follow from these sizes. Operators derive shapes from their
// operands. Sizes occur in lists of integers (the shape of a Reshape or Expand, the ends of a Slice), in the shapes of
// constants, and in declared shapes; they may be multiplied, as in batch × heads. A list with open sizes reads them
// from the input at run time. A Reshape with a single number that differs has -1 there, whatever the number is a
// product of. All other differences are refused.
import { type HostTensor, MpError } from "@mp/graph";
import { sameBytes } from "@mp/graph/internal";
import type { OnnxGraph, OnnxModel, OnnxNode, OnnxValueInfo } from "../model.js";
import { mapBodies } from "../model.js";
import { quote } from "../problem.js";
import { readBy } from "../trainable/subgraph.js";
import type { OpenSize } from "./export-options.js";
import { declaredName, type Extent, findExtent } from "./extent.js";
import { SizeNodes } from "./size-nodes.js";
import { tableRule } from "./size-tables.js";
import type { Sizes } from "./traced-sizes.js";

/** Merges models traced at several sizes. @throws MP_UNSUPPORTED for differences that no size explains */
export function mergeSizes(
  models: readonly OnnxModel[],
  open: readonly OpenSize[],
  sizes: readonly Sizes[],
): OnnxModel {
  const [first] = models;
  if (first === undefined) throw new Error("internal: no trace");
  if (open.length === 0) return first;
  const merging = new Merging(models, open, sizes);
  return { ...first, graph: merging.model() };
}

class Merging {
  readonly #graphs: readonly OnnxGraph[];
  readonly #sizes: readonly Sizes[];
  readonly #open: readonly OpenSize[];
  readonly #tensors: readonly ReadonlyMap<string, OnnxGraph["initializers"][number]["tensor"]>[];
  readonly #added: SizeNodes;

  constructor(models: readonly OnnxModel[], open: readonly OpenSize[], sizes: readonly Sizes[]) {
    this.#graphs = models.map(({ graph }) => graph);
    this.#sizes = sizes;
    this.#open = open;
    this.#tensors = this.#graphs.map(
      ({ initializers }) => new Map(initializers.map(({ name, tensor }) => [name, tensor])),
    );
    const taken = this.#graphs.flatMap(({ inputs, initializers, nodes }) => [
      ...[...inputs, ...initializers].map(({ name }) => name),
      ...nodes.flatMap(({ outputs }) => outputs),
    ]);
    this.#added = new SizeNodes(open, taken);
  }

  model(): OnnxGraph {
    const merged = this.#graph(this.#graphs);
    const [first] = this.#graphs as readonly [OnnxGraph];
    const initializers = [...first.initializers, ...this.#added.initializers];
    const nodes = [...this.#added.nodes, ...merged.nodes];
    const read = new Set(nodes.flatMap(readBy));
    return { ...merged, nodes, initializers: initializers.filter(({ name }) => read.has(name)) };
  }

  #graph(graphs: readonly OnnxGraph[]): OnnxGraph {
    const [first, ...others] = graphs as readonly [OnnxGraph, ...OnnxGraph[]];
    const byName = others.map(({ nodes }) => new Map(nodes.map((node) => [node.name, node])));
    if (others.some(({ nodes }) => nodes.length !== first.nodes.length))
      return this.#refuse("the model has other operators at other sizes");
    const nodes = first.nodes.map((node) =>
      this.#node([
        node,
        ...byName.map((nodes) => nodes.get(node.name) ?? this.#refuse("lacks it at another size", node)),
      ]),
    );
    return {
      ...first,
      nodes,
      inputs: first.inputs.map((_, at) => this.#declared(graphs.map(({ inputs }) => inputs[at]))),
      outputs: first.outputs.map((_, at) => this.#declared(graphs.map(({ outputs }) => outputs[at]))),
    };
  }

  #node(nodes: readonly OnnxNode[]): OnnxNode {
    const [first, ...others] = nodes as readonly [OnnxNode, ...OnnxNode[]];
    for (const node of others) {
      const isSame =
        node.opType === first.opType &&
        node.domain === first.domain &&
        node.inputs.length === first.inputs.length &&
        isEqual(node.outputs, first.outputs);
      if (!isSame) return this.#refuse("is another operator at another size", first);
    }
    if (first.opType === "Constant" && first.domain === "") return this.#constant(nodes);
    const inputs = first.inputs.map((_, at) => this.#operand(nodes, at));
    return { ...first, inputs, attributes: this.#attributes(nodes) };
  }

  /** Merges the attributes: graphs recursively; all others must be equal in all traces. */
  #attributes(nodes: readonly OnnxNode[]): OnnxNode["attributes"] {
    const [first, ...others] = nodes as readonly [OnnxNode, ...OnnxNode[]];
    const bodies = new Map<OnnxGraph, OnnxGraph>();
    for (const [name, attribute] of Object.entries(first.attributes)) {
      const same = others.map(({ attributes }) => attributes[name]);
      if (attribute.kind !== "graph") {
        if (!same.every((other) => isEqual(other, attribute)))
          return this.#refuse(`has ${name} that depends on it`, first);
        continue;
      }
      const graphs = same.flatMap((other) => (other?.kind === "graph" ? [other.value] : []));
      if (graphs.length < others.length) return this.#refuse(`lacks ${name} at another size`, first);
      bodies.set(attribute.value, this.#graph([attribute.value, ...graphs]));
    }
    return mapBodies(first.attributes, (body) => bodies.get(body) ?? body);
  }

  #operand(nodes: readonly OnnxNode[], at: number): string {
    const [first] = nodes as readonly [OnnxNode];
    const names = nodes.map(({ inputs }) => inputs[at] as string);
    const [name] = names as [string];
    const tensors = names.map((each, trace) => this.#tensors[trace]?.get(each));
    const given = tensors.flatMap((tensor) => (tensor === undefined ? [] : [tensor]));
    if (given.length === 0 && names.every((each) => each === name)) return name;
    if (given.length < names.length)
      return this.#refuse(`reads another operand ${at} at another size`, first);
    if (given.every((tensor) => isEqual(tensor, given[0]))) return name;
    const list = this.#scalar(given) ?? this.#listed(given, first, at);
    return list ?? this.#refuse(`has operand ${at} that depends on it`, first);
  }

  /** Adds an integer scalar that depends on open sizes, such as a Range's limit; undefined for others. */
  #scalar(tensors: readonly HostTensor[]): string | undefined {
    const [{ dtype } = { dtype: "bool" }] = tensors;
    if (tensors.some((each) => each.dtype !== dtype || each.shape.length > 0)) return undefined;
    if (dtype !== "i64" && dtype !== "i32") return undefined;
    const values = tensors.map(({ data }) => Number(data[0]));
    const extent = findExtent(values, this.#open, this.#sizes);
    return extent && this.#added.scalar(extent, dtype);
  }

  #listed(tensors: readonly HostTensor[], node: OnnxNode, at: number): string | undefined {
    const lists = tensors.flatMap(({ dtype, shape, data }) =>
      dtype === "i64" && shape.length === 1 ? [Array.from(data as BigInt64Array, Number)] : [],
    );
    const isOneLength = lists.every(({ length }) => length === lists[0]?.length);
    return lists.length === tensors.length && isOneLength ? this.#list(lists, node, at) : undefined;
  }

  #list(lists: readonly (readonly number[])[], node: OnnxNode, at: number): string | undefined {
    const parts = this.#parts(lists);
    const isShape = node.opType === "Reshape" && node.domain === "" && at === 1;
    const [first] = lists as readonly [readonly number[]];
    const open = parts.filter((part) => typeof part !== "number").length;
    if (isShape && open === 1 && !first.includes(0))
      return this.#added.list(parts.map((part) => (typeof part === "number" ? part : -1)));
    const known = parts.filter((part) => part !== undefined);
    return known.length === parts.length ? this.#added.list(known) : undefined;
  }

  /** Merges lists by index: the number in all of them, or else the extent with these values, or undefined. */
  #parts(lists: readonly (readonly number[])[]): readonly (number | Extent | undefined)[] {
    const [first] = lists as readonly [readonly number[]];
    return first.map((value, index) => {
      const values = lists.map((list) => list[index] as number);
      return values.every((each) => each === value) ? value : findExtent(values, this.#open, this.#sizes);
    });
  }

  /** Returns the constant if it is the same in all traces, else a node that computes it from the open sizes. */
  #constant(nodes: readonly OnnxNode[]): OnnxNode {
    const [first] = nodes as readonly [OnnxNode];
    if (nodes.every(({ attributes }) => isEqual(attributes, first.attributes))) return first;
    const tensors = nodes.flatMap(({ attributes: { value } }) =>
      value?.kind === "tensor" ? [value.value] : [],
    );
    const hasRanks = tensors.every(({ shape }) => shape.length === tensors[0]?.shape.length);
    const parts = hasRanks ? this.#parts(tensors.map(({ shape }) => shape)) : [undefined];
    const known = parts.filter((part) => part !== undefined);
    const axes = parts.flatMap((part, axis) => (typeof part === "object" ? [axis] : []));
    const table = known.length < parts.length ? undefined : tableRule(tensors, axes);
    if (table === undefined) return this.#refuse("holds numbers that depend on it", first);
    return this.#added.table(first, table, known);
  }

  #declared(infos: readonly (OnnxValueInfo | undefined)[]): OnnxValueInfo {
    const [first] = infos as readonly [OnnxValueInfo];
    const shapes = infos.map((info) => info?.type?.shape);
    if (first.type === undefined || shapes.some((shape) => shape?.length !== shapes[0]?.length)) return first;
    const parts = this.#parts(shapes as readonly (readonly number[])[]);
    const shape = parts.map((part) =>
      typeof part === "number" ? part : part === undefined ? "" : declaredName(part),
    );
    return { ...first, type: { ...first.type, shape } };
  }

  #refuse(what: string, node?: OnnxNode): never {
    const sizes = this.#open.map(({ name }) => quote(name)).join(", ");
    const subject = node === undefined ? what : `${node.opType} (node ${quote(node.name)}) ${what}`;
    throw new MpError(
      "MP_UNSUPPORTED",
      `exportOnnx: dynamic axes ${sizes}: ${subject}; give it the smallest size that the model takes, leave the axis out of dynamicAxes, or use shapes that hold its size as it is`,
      { details: { ...(node === undefined ? {} : { node: node.name, op: node.opType }) } },
    );
  }
}

/** Compares plain data, and typed arrays by their bytes, so that NaN equals itself and 0 is not -0. */
function isEqual(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  if (ArrayBuffer.isView(a) && ArrayBuffer.isView(b)) return sameBytes(a, b);
  const keys = Object.keys(a);
  return (
    keys.length === Object.keys(b).length &&
    keys.every((key) => isEqual((a as Record<string, unknown>)[key], (b as Record<string, unknown>)[key]))
  );
}
