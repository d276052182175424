import {
  bytesPerElement,
  type DType,
  encode,
  type Graph,
  type HostTensor,
  hostArrayOf,
  isComputeFloat,
  isFloat,
  tensor,
  type ValueType,
} from "@mp/graph";
import * as attribute from "./attributes.js";
import { type TfAttributes, type TfDType, type } from "./attributes.js";
import type { ConstantTable } from "./constant-table.js";
import { type NodeInit, nodeInit } from "./node-def.js";
import { type Input, Term, type TermWriter } from "./term.js";

/** Larger constants become variables, because TensorFlow copies the graph several times while it prepares a run. */
const LARGEST_CONST_BYTES = 4096;

export interface EmitOptions {
  /** Number of results; 1 unless given. */
  readonly outputs?: number;
  /** Nodes that must run before this one, besides its inputs. */
  readonly after?: readonly Input[];
}

/** A value that changes from step to step of a loop. */
export interface LoopVariable {
  readonly dtype: TfDType;
  readonly start: string;
}

/** The parts of a loop. Starts are names outside the loop; functions take and return names inside it. */
export interface LoopParts {
  readonly variables: readonly LoopVariable[];
  /** Outer values that are the same in each step. */
  readonly invariants: readonly LoopVariable[];
  /** Computes from the variables whether there is another step, as a scalar bool. */
  readonly goesOn: (variables: readonly string[]) => string;
  /** Computes the variables after a step. */
  readonly step: (variables: readonly string[], invariants: readonly string[]) => readonly string[];
}

/** TensorFlow's frame of a loop: its nodes run once per step and read outer values only through Enter. */
export interface Frame {
  readonly name: string;
  readonly around: Frame | undefined;
  /** Inner names of constants, which are made outside of all loops, by their outer names. */
  readonly constants: Map<string, string>;
}

/** Lowers a graph that a node holds as an attribute; the names of its nodes begin with `path`. */
export type LowerBody = (graph: Graph, inputs: readonly Term[], path: string) => readonly Term[];

/**
 * Appends TensorFlow nodes whose names begin with the writer's scope and are unique in it, and records the graph node
 * that each belongs to. Results are called `node` or `node:1`, as a GraphDef spells them.
 */
export class ScopeWriter implements TermWriter {
  readonly nodes: NodeInit[] = [];
  readonly zeros: Set<string> = new Set();
  /** Name of the graph node for each TensorFlow node. */
  readonly sources: Map<string, string> = new Map();
  readonly #scope: string;
  readonly #constants: ConstantTable | undefined;
  readonly #names = new Set<string>();
  /** Number of names given out for each base name. */
  readonly #used = new Map<string, number>();
  readonly #known = new Map<string, string>();
  readonly #remembered = new Map<string, Term>();
  /** The function that makes the nodes of a provisional name, or the real name once they are made. */
  readonly #deferred = new Map<string, (() => string) | string>();
  readonly #lowerBody: LowerBody | undefined;
  #frame: Frame | undefined;
  /** The frame of each node inside a loop. */
  readonly #frames = new Map<string, Frame>();
  #current: { readonly source: string | undefined; readonly path: string } = { source: undefined, path: "" };

  constructor(scope: string, constants?: ConstantTable, lowerBody?: LowerBody) {
    this.#scope = scope;
    this.#constants = constants;
    this.#lowerBody = lowerBody;
  }

  /** The graph node to which new nodes belong. */
  get source(): string | undefined {
    return this.#current.source;
  }

  /** The frame of the loop that is being written. */
  get frame(): Frame | undefined {
    return this.#frame;
  }

  /** The frame of a node's inputs; an Enter reads them outside the frame that it leads into. */
  readsIn({ name, op }: NodeInit): Frame | undefined {
    const frame = this.#frames.get(name);
    return op === "Enter" ? frame?.around : frame;
  }

  /** The frame of a node's results; an Exit gives them outside the frame that it leads out of. */
  givesIn({ name, op }: NodeInit): Frame | undefined {
    const frame = this.#frames.get(name);
    return op === "Exit" ? frame?.around : frame;
  }

  /** Names the next nodes after the graph node `source`; undefined for the backend's own nodes. */
  enter(source: string | undefined, path: string = source ?? ""): void {
    this.#current = { source, path };
  }

  /** Appends a node, named after the graph node that is being lowered. @returns the names of its results */
  emit(
    op: string,
    inputs: readonly Input[],
    attributes: TfAttributes = {},
    { outputs = 1, after = [] }: EmitOptions = {},
  ): readonly string[] {
    const resolve = (input: Input): string => this.resolve(typeof input === "string" ? input : input.name);
    const [read, ran] = [inputs.map(resolve), after.map(resolve)];
    const name = this.#name(op);
    this.nodes.push(nodeInit(op, name, [...read, ...controls(ran)], attributes));
    if (this.#current.source !== undefined) this.sources.set(name, this.#current.source);
    if (this.#frame !== undefined) this.#frames.set(name, this.#frame);
    return Array.from({ length: outputs }, (_, index) => (index === 0 ? name : `${name}:${index}`));
  }

  /** Like `emit`, for a node with one result. */
  one(op: string, inputs: readonly Input[], attributes?: TfAttributes, options?: EmitOptions): string {
    const [name] = this.emit(op, inputs, attributes, options);
    return name as string;
  }

  /** Like `emit`, for a node with one result of a known type. */
  term(
    op: string,
    inputs: readonly Input[],
    attributes: TfAttributes,
    of: ValueType,
    options?: EmitOptions,
  ): Term {
    return new Term(this, this.one(op, inputs, attributes, options), of);
  }

  /** The named result as a term. */
  at(name: string, of: ValueType): Term {
    return new Term(this, name, of);
  }

  /** Makes a term once per key. */
  remember(key: string, make: () => Term): Term {
    const term = this.#remembered.get(key) ?? make();
    this.#remembered.set(key, term);
    return term;
  }

  /** A provisional name for a result whose nodes are appended only when a node first reads it. */
  defer(make: () => string): string {
    const name = `deferred ${this.#deferred.size}`;
    this.#deferred.set(name, make);
    return name;
  }

  /**
   * Writes a loop and returns the names of its variables after the last step. It uses TensorFlow's own control flow,
   * which sessions run without calling functions: a variable's Merge takes its start value, then the result of each
   * step; its Switch passes the value to the next step or out of the loop.
   */
  loop({ variables, invariants, goesOn, step }: LoopParts): readonly string[] {
    const around = this.#frame;
    // Deferred values are made outside.
    const starts = variables.map(({ start }) => this.resolve(start));
    const same = invariants.map(({ start }) => this.resolve(start));
    this.#frame = { name: this.#name("loop"), around, constants: new Map() };
    const merges = variables.map(({ dtype }, index) => {
      const entered = this.#enter(starts[index] as string, dtype, false);
      const name = this.one("Merge", [entered, entered], { T: type(dtype), N: attribute.int(2) });
      return { name, node: this.nodes.at(-1) as NodeInit };
    });
    const inside = same.map((start, index) => this.#enter(start, invariants[index]?.dtype as TfDType, true));
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

  #enter(name: string, dtype: TfDType, isConstant: boolean): string {
    return this.one("Enter", [name], {
      T: type(dtype),
      frame_name: attribute.string(this.#frame?.name ?? ""),
      is_constant: attribute.bool(isConstant),
      parallel_iterations: attribute.int(1),
    });
  }

  /** Writes the nodes of a graph that a node holds as an attribute. @returns its outputs */
  body(graph: Graph, inputs: readonly Term[]): readonly Term[] {
    if (this.#lowerBody === undefined) throw new Error("internal: nothing lowers bodies here");
    const current = this.#current;
    const outputs = this.#lowerBody(graph, inputs, current.path);
    this.#current = current;
    return outputs;
  }

  /** Returns the name that a result has in the graph. Makes its nodes first if they are deferred. */
  resolve(name: string): string {
    const deferred = this.#deferred.get(name);
    if (deferred === undefined) return name;
    const real = typeof deferred === "string" ? deferred : this.resolve(deferred());
    this.#deferred.set(name, real);
    return real;
  }

  /** A constant; equal constants share one Const node or variable. */
  constant(value: HostTensor): Term {
    const pool = value.data.byteLength > LARGEST_CONST_BYTES ? this.#constants : undefined;
    const key = pool === undefined ? contentKey(value) : pool.handle(value);
    const outside = this.#once(key, () => {
      const attributes = { dtype: type(value.dtype) };
      if (pool !== undefined) return this.one("ReadVariableOp", [key], attributes);
      const zeros = negativeZerosAsZeros(value);
      const name = this.one("Const", [], { ...attributes, value: attribute.tensor(zeros ?? value) });
      const opaque = isFloat(value.dtype) ? this.#opaque(name, value) : name;
      return zeros === undefined ? opaque : this.one("Neg", [opaque], { T: type(value.dtype) });
    });
    return new Term(this, this.#inside(outside, value.dtype, this.#frame), value);
  }

  /** Brings a result that is made outside of all loops into a frame. @returns its inner name */
  #inside(outside: string, dtype: DType, frame: Frame | undefined): string {
    if (frame === undefined) return outside;
    const known = frame.constants.get(outside);
    if (known !== undefined) return known;
    const around = this.#inside(outside, dtype, frame.around);
    const current = this.#frame;
    this.#frame = frame;
    const name = this.#enter(around, dtype, true);
    this.#frame = current;
    frame.constants.set(outside, name);
    return name;
  }

  /** A one-dimensional i32 Const, the form of axes, shapes and pads. */
  ints(values: readonly number[]): Term {
    return this.constant(tensor(Int32Array.from(values)));
  }

  /** A scalar Const, rounded once from f64. */
  scalar(value: number, dtype: DType): Term {
    const data = new hostArrayOf[dtype](1);
    if (data instanceof BigInt64Array || data instanceof BigUint64Array) data[0] = BigInt(value);
    else if (isFloat(dtype) && bytesPerElement[dtype] < 4) data[0] = encode(dtype, value);
    else data[0] = value;
    return this.constant({ dtype, shape: [], data } as HostTensor);
  }

  placeholder(dtype: TfDType, shape: readonly number[]): string {
    return this.one("Placeholder", [], { dtype: type(dtype), shape: attribute.shape(shape) });
  }

  /**
   * Hides from TensorFlow's optimizer that a value is constant. It would turn a · c · d into a · (c · d), and a / c
   * into a · (1 / c), which round and overflow differently.
   */
  #opaque(name: string, { dtype, shape }: HostTensor): string {
    return this.one("PlaceholderWithDefault", [name], { dtype: type(dtype), shape: attribute.shape(shape) });
  }

  /** Makes a node once per program; it is not named after a graph node. */
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

/** Control inputs that wait for the producers of these results. */
function controls(names: readonly string[]): readonly string[] {
  return [...new Set(names.map((name) => `^${name.replace(/:\d+$/, "")}`))];
}

/** A path with only characters that TensorFlow accepts after a slash; a node's name may hold whatever a user wrote. */
function legal(path: string): string {
  return path.replace(/[^A-Za-z0-9_./-]/g, "_").replace(/\/{2,}/g, "/");
}

function contentKey({ dtype, shape, data }: HostTensor): string {
  const bytes = Buffer.from(data.buffer as ArrayBuffer, data.byteOffset, data.byteLength);
  return `${dtype} [${shape.join()}] ${bytes.toString("latin1")}`;
}

/** Zeros for a tensor of -0 only, which TensorFlow's optimizer would turn into +0; undefined for others. */
function negativeZerosAsZeros({ dtype, shape, data }: HostTensor): HostTensor | undefined {
  if (!isComputeFloat(dtype) || data.length === 0) return undefined;
  const isNegative = (x: number): boolean => (dtype === "f32" ? Object.is(x, -0) : x === 0x8000);
  const isAll = (data as Float32Array).every(isNegative);
  return isAll ? ({ dtype, shape, data: data.slice().fill(0 as never) } as HostTensor) : undefined;
}
