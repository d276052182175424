import { type DType, type HostTensor, tensor } from "@mp/core";
import { bytesPerElement, encode, type Graph, hostArrayOf, isComputeFloat, isFloat } from "@mp/core/graph";
import type { ConstantTable } from "./constant-table.js";
import { type NodeInit, nodeInit } from "./node-def.js";
import {
  bool,
  type EmitOptions,
  int,
  type LoopParts,
  shape as shapeAttribute,
  string as stringAttribute,
  type TfAttributes,
  type TfDType,
  type TfWriter,
  type,
} from "./tf-writer.js";

/** Larger constants would be in every copy of the graph that TensorFlow makes while it prepares a run. */
const LARGEST_CONST_BYTES = 4096;

/** The inside of a loop, in TensorFlow's terms: its nodes run once in each step and read nothing from outside but by Enter. */
export interface Frame {
  readonly name: string;
  readonly around: Frame | undefined;
  /** The names inside of constants, which are made outside of all loops. */
  readonly constants: Map<string, string>;
}

/** Lowers the nodes of a graph that a node holds, with names that begin with that node's path. */
export type LowerBody = (graph: Graph, inputs: readonly string[], path: string) => readonly string[];

/**
 * Appends nodes whose names begin with the writer's own scope and are unique in it, and records which graph node they
 * belong to.
 */
export class ScopeWriter implements TfWriter {
  readonly nodes: NodeInit[] = [];
  /** Name of the graph node for each TensorFlow node. */
  readonly sources: Map<string, string> = new Map();
  readonly #scope: string;
  readonly #constants: ConstantTable | undefined;
  readonly #names = new Set<string>();
  /** Number of names that begin with each base. */
  readonly #used = new Map<string, number>();
  readonly #known = new Map<string, string>();
  /** By their provisional names; replaced by the real name once there is one. */
  readonly #deferred = new Map<string, (() => string) | string>();
  readonly #lowerBody: LowerBody | undefined;
  #frame: Frame | undefined;
  /** The frames of nodes in loops. */
  readonly #frames = new Map<string, Frame>();
  #current: { readonly source: string | undefined; readonly path: string } = { source: undefined, path: "" };

  constructor(scope: string, constants?: ConstantTable, lowerBody?: LowerBody) {
    this.#scope = scope;
    this.#constants = constants;
    this.#lowerBody = lowerBody;
  }

  /** The graph node that nodes now belong to. */
  get source(): string | undefined {
    return this.#current.source;
  }

  /** The loop whose inside is being written. */
  get frame(): Frame | undefined {
    return this.#frame;
  }

  /** The loop in which a node reads its inputs. */
  readsIn({ name, op }: NodeInit): Frame | undefined {
    const frame = this.#frames.get(name);
    return op === "Enter" ? frame?.around : frame;
  }

  /** The loop in which nodes may read a node. */
  givesIn({ name, op }: NodeInit): Frame | undefined {
    const frame = this.#frames.get(name);
    return op === "Exit" ? frame?.around : frame;
  }

  /** Later nodes are named after that one; `undefined` for nodes of the backend's own. */
  enter(source: string | undefined, path: string = source ?? ""): void {
    this.#current = { source, path };
  }

  emit(
    op: string,
    inputs: readonly string[],
    attributes: TfAttributes = {},
    { outputs = 1, after = [] }: EmitOptions = {},
  ): readonly string[] {
    const [read, ran] = [inputs, after].map((names) => names.map((given) => this.#made(given))) as [
      string[],
      string[],
    ];
    const name = this.#name(op);
    this.nodes.push(nodeInit(op, name, [...read, ...controls(ran)], attributes));
    if (this.#current.source !== undefined) this.sources.set(name, this.#current.source);
    if (this.#frame !== undefined) this.#frames.set(name, this.#frame);
    return Array.from({ length: outputs }, (_, index) => (index === 0 ? name : `${name}:${index}`));
  }

  one(op: string, inputs: readonly string[], attributes?: TfAttributes, options?: EmitOptions): string {
    const [name] = this.emit(op, inputs, attributes, options);
    return name as string;
  }

  cast(name: string, from: TfDType, to: TfDType): string {
    return from === to ? name : this.one("Cast", [name], { SrcT: type(from), DstT: type(to) });
  }

  defer(make: () => string): string {
    const name = `deferred ${this.#deferred.size}`;
    this.#deferred.set(name, make);
    return name;
  }

  /**
   * TensorFlow's own control flow, which its sessions run without calling functions: a variable's Merge takes what
   * enters the loop, then what each step hands to the next; its Switch hands it to a step or out of the loop.
   */
  loop({ variables, invariants, goesOn, step }: LoopParts): readonly string[] {
    const around = this.#frame;
    // Values that are made when they are first read are made outside.
    const starts = variables.map(({ start }) => this.#made(start));
    const same = invariants.map(({ start }) => this.#made(start));
    this.#frame = { name: this.#name("loop"), around, constants: new Map() };
    const merges = variables.map(({ dtype }, index) => {
      const entered = this.#entered(starts[index] as string, dtype, false);
      const name = this.one("Merge", [entered, entered], { T: type(dtype), N: int(2) });
      return { name, node: this.nodes.at(-1) as NodeInit };
    });
    const inside = same.map((start, index) =>
      this.#entered(start, invariants[index]?.dtype as TfDType, true),
    );
    const more = this.one("LoopCond", [goesOn(merges.map(({ name }) => name))]);
    const switches = merges.map(({ name }, index) =>
      this.emit("Switch", [name, more], { T: type(variables[index]?.dtype as TfDType) }, { outputs: 2 }),
    );
    const next = step(
      switches.map(([, goes]) => goes as string),
      inside,
    );
    const left = variables.map(({ dtype }, index) => {
      const back = this.one("NextIteration", [next[index] as string], { T: type(dtype) });
      merges[index]?.node.input.splice(1, 1, back);
      return this.one("Exit", [switches[index]?.[0] as string], { T: type(dtype) });
    });
    this.#frame = around;
    return left;
  }

  #entered(name: string, dtype: TfDType, isConstant: boolean): string {
    return this.one("Enter", [name], {
      T: type(dtype),
      frame_name: stringAttribute(this.#frame?.name ?? ""),
      is_constant: bool(isConstant),
      parallel_iterations: int(1),
    });
  }

  body(graph: Graph, inputs: readonly string[]): readonly string[] {
    if (this.#lowerBody === undefined) throw new Error("internal: nothing lowers bodies here");
    const current = this.#current;
    const outputs = this.#lowerBody(graph, inputs, current.path);
    this.#current = current;
    return outputs;
  }

  #made(name: string): string {
    const made = this.#deferred.get(name);
    if (made === undefined) return name;
    const real = typeof made === "string" ? made : this.#made(made());
    this.#deferred.set(name, real);
    return real;
  }

  constant(value: HostTensor): string {
    const pool = value.data.byteLength > LARGEST_CONST_BYTES ? this.#constants : undefined;
    const key = pool === undefined ? contentOf(value) : pool.handle(value);
    const outside = this.#once(key, () => {
      const attributes = { dtype: type(value.dtype) };
      if (pool !== undefined) return this.one("ReadVariableOp", [key], attributes);
      const zeros = zerosOf(value);
      const kept = zeros ?? value;
      const name = this.one("Const", [], { ...attributes, value: { kind: "tensor", value: kept } });
      const opaque = isFloat(value.dtype) ? this.#opaque(name, value) : name;
      return zeros === undefined ? opaque : this.one("Neg", [opaque], { T: type(value.dtype) });
    });
    return this.#inside(outside, value.dtype, this.#frame);
  }

  /** The name inside of a loop of what is made outside of all loops. */
  #inside(outside: string, dtype: DType, frame: Frame | undefined): string {
    if (frame === undefined) return outside;
    const known = frame.constants.get(outside);
    if (known !== undefined) return known;
    const around = this.#inside(outside, dtype, frame.around);
    const current = this.#frame;
    this.#frame = frame;
    const name = this.#entered(around, dtype, true);
    this.#frame = current;
    frame.constants.set(outside, name);
    return name;
  }

  ints(values: readonly number[]): string {
    return this.constant(tensor(Int32Array.from(values)));
  }

  scalar(value: number, dtype: DType): string {
    return this.constant(scalarOf(value, dtype));
  }

  placeholder(dtype: TfDType, shape: readonly number[]): string {
    return this.one("Placeholder", [], { dtype: type(dtype), shape: shapeAttribute(shape) });
  }

  /**
   * The same value, hidden from TensorFlow's optimizer as a constant. The optimizer moves known constants: a · c · d
   * becomes a · (c · d), and a / c becomes a · (1 / c), so different numbers are rounded and overflow.
   */
  #opaque(name: string, { dtype, shape }: HostTensor): string {
    return this.one("PlaceholderWithDefault", [name], { dtype: type(dtype), shape: shapeAttribute(shape) });
  }

  /** Makes a node that a program contains only once; it is not named after a graph node. */
  #once(key: string, make: () => string): string {
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const [current, frame] = [this.#current, this.#frame];
    this.enter(undefined, "constant");
    this.#frame = undefined;
    const name = make();
    this.#current = current;
    this.#frame = frame;
    this.#known.set(key, name);
    return name;
  }

  #name(op: string): string {
    const base = [this.#scope, legal(this.#current.path), op].filter((part) => part !== "").join("/");
    for (;;) {
      const count = this.#used.get(base) ?? 0;
      this.#used.set(base, count + 1);
      const name = count === 0 ? base : `${base}_${count}`;
      if (this.#names.has(name)) continue;
      this.#names.add(name);
      return name;
    }
  }
}

/** Control edges from the nodes that produce those results. */
function controls(names: readonly string[]): readonly string[] {
  return [...new Set(names.map((name) => `^${name.replace(/:\d+$/, "")}`))];
}

/** A name that TensorFlow accepts after a slash; a node's name may hold anything that the user wrote. */
function legal(path: string): string {
  return path.replace(/[^A-Za-z0-9_./-]/g, "_").replace(/\/{2,}/g, "/");
}

function contentOf({ dtype, shape, data }: HostTensor): string {
  const bytes = Buffer.from(data.buffer as ArrayBuffer, data.byteOffset, data.byteLength);
  return `${dtype} [${shape.join()}] ${bytes.toString("latin1")}`;
}

function scalarOf(value: number, dtype: DType): HostTensor {
  const data = new hostArrayOf[dtype](1);
  if (data instanceof BigInt64Array || data instanceof BigUint64Array) data[0] = BigInt(value);
  else if (isFloat(dtype) && bytesPerElement[dtype] < 4) data[0] = encode(dtype, value);
  else data[0] = value;
  return { dtype, shape: [], data } as HostTensor;
}

/** Zeros in place of -0 alone: TensorFlow's optimizer writes a tensor of equal zeros as +0. */
function zerosOf({ dtype, shape, data }: HostTensor): HostTensor | undefined {
  if (!isComputeFloat(dtype) || data.length === 0) return undefined;
  const isNegative = (x: number): boolean => (dtype === "f32" ? Object.is(x, -0) : x === 0x8000);
  const isAll = (data as Float32Array).every(isNegative);
  return isAll ? ({ dtype, shape, data: data.slice().fill(0 as never) } as HostTensor) : undefined;
}
