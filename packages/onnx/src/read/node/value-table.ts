// The values that a model's names stand for while it is read. An initializer or a constant is only brought
// into the graph when a node reads it as data, and an i64 that the graph keeps as i32 is only widened where
// its 64 bits are asked for.
import {
  elementCount,
  type GraphBuilder,
  type HostTensor,
  type InputRole,
  MpError,
  type Value,
  type ValueType,
} from "@mp/graph";
import { literals } from "../../literals.js";
import { toNumbers } from "../../numbers.js";
import { quote, refuse, unsupported } from "../../problem.js";

interface Entry {
  /** The value in the model's dtype. */
  exact?: Value;
  /** The i32 form of a value that the model has as i64. */
  narrow?: Value;
  readonly constant?: HostTensor;
  /** The elements of a sequence of tensors. */
  readonly sequence?: readonly Value[];
  readonly isParameter: boolean;
  /** Whether the surrounding graph defines the value. */
  readonly isOutside?: true;
}

export class ValueTable {
  readonly #builder: GraphBuilder;
  readonly #entries = new Map<string, Entry>();
  readonly #parameters = new Map<string, HostTensor>();
  readonly #outer: ValueTable | undefined;
  readonly #captured: Value[] = [];

  /** @param outer the table of the surrounding graph, whose values a body may read */
  constructor(builder: GraphBuilder, outer?: ValueTable) {
    this.#builder = builder;
    this.#outer = outer;
  }

  /** The outer values that a body reads, in the order of the body's inputs for them. */
  get captures(): readonly Value[] {
    return this.#captured;
  }

  /** Adds an input for a value of the surrounding graph. */
  capture(outer: string, name?: string, role: InputRole = "capture"): void {
    const entry = this.#fromOutside(outer);
    if (entry === undefined || this.#entries.has(outer)) return;
    this.#entries.set(outer, entry);
    entry.exact = this.#captureAs(this.#outerTable.exact(outer), name, role);
  }

  get #outerTable(): ValueTable {
    if (this.#outer === undefined) throw new Error("internal: there is no graph around");
    return this.#outer;
  }

  #captureAs(
    value: Value,
    name: string = `capture${this.#captured.length}`,
    role: InputRole = "capture",
  ): Value {
    this.#captured.push(value);
    return this.#builder.input(name, value, role);
  }

  #fromOutside(name: string): Entry | undefined {
    if (this.#outer === undefined || !this.#outer.has(name)) return undefined;
    const constant = this.#outer.constant(name);
    const isParameter = this.#outer.isParameter(name);
    return { ...(constant === undefined ? {} : { constant }), isParameter, isOutside: true };
  }

  /** The parameters that nodes have read, in the order of their first use. */
  get parameters(): ReadonlyMap<string, HostTensor> {
    return this.#parameters;
  }

  /** Defines a name. @throws MP_PARSE if it is taken */
  #define(name: string, entry: Entry): void {
    if (this.#entries.has(name))
      refuse("duplicate-name", `value ${quote(name)} is made twice`, { value: name });
    this.#entries.set(name, entry);
  }

  defineValue(name: string, exact: Value): void {
    this.#define(name, { exact, isParameter: false });
  }

  defineNarrow(name: string, narrow: Value): void {
    this.#define(name, { narrow, isParameter: false });
  }

  defineSequence(name: string, sequence: readonly Value[]): void {
    this.#define(name, { sequence, isParameter: false });
  }

  /** @throws MP_UNSUPPORTED for a value that is not a sequence of this graph */
  sequence(name: string): readonly Value[] {
    return this.#entry(name).sequence ?? unsupported(`value ${quote(name)} is no sequence of this graph`);
  }

  /** Defines a constant. When a node first reads it, it becomes an input (for a parameter) or a Constant. */
  defineConstant(name: string, constant: HostTensor, isParameter: boolean): void {
    if (isParameter && this.#outer !== undefined) this.#outer.defineConstant(name, constant, isParameter);
    else this.#define(name, { constant, isParameter });
  }

  /** Makes `name` a second name of the value `of`. */
  defineAlias(name: string, of: string): void {
    this.#define(name, this.#entry(of));
  }

  #entry(name: string): Entry {
    const entry = this.#entries.get(name) ?? this.#fromOutside(name);
    if (entry !== undefined) {
      this.#entries.set(name, entry);
      return entry;
    }
    return refuse("undefined-value", `value ${quote(name)} is read before it is made`, { value: name });
  }

  has(name: string): boolean {
    return this.#entries.has(name) || this.#outer?.has(name) === true;
  }

  type(name: string): ValueType {
    const entry = this.#entry(name);
    const { exact, narrow, constant, isOutside } = entry;
    expectTensor(name, entry);
    if (isOutside && exact === undefined && constant === undefined) return this.#outerTable.type(name);
    const { dtype, shape } = exact ?? constant ?? { ...(narrow as Value), dtype: "i64" };
    return { dtype, shape };
  }

  constant(name: string): HostTensor | undefined {
    return this.#entry(name).constant;
  }

  isParameter(name: string): boolean {
    return this.#entry(name).isParameter;
  }

  /** The i32 value by which the graph holds an i64 of the model; undefined if there is none. */
  narrow(name: string): Value | undefined {
    const entry = this.#entry(name);
    const outer = entry.isOutside ? this.#outerTable.narrow(name) : undefined;
    if (outer !== undefined) entry.narrow ??= this.#captureAs(outer);
    return entry.narrow;
  }

  /** The value in the model's dtype. */
  exact(name: string): Value {
    const entry = this.#entry(name);
    entry.exact ??= this.#bringIn(name, entry);
    return entry.exact;
  }

  #bringIn(name: string, entry: Entry): Value {
    const { constant, narrow, isParameter, isOutside } = entry;
    expectTensor(name, entry);
    // The body makes a single number again; a larger constant is made once, outside.
    const isNumber = constant !== undefined && !isParameter && elementCount(constant.shape, "constant") === 1;
    if (isOutside && !isNumber) return this.#captureAs(this.#outerTable.exact(name));
    if (constant === undefined) return this.#builder.emitOne("Cast", [narrow as Value], { to: "i64" });
    if (!isParameter) return this.#builder.constant(constant);
    this.#parameters.set(name, constant);
    return this.#builder.input(name, constant, "parameter");
  }

  /** The value as i32, the dtype of indices. @throws MP_UNSUPPORTED for a constant beyond i32 */
  indices(name: string): Value {
    const entry = this.#entry(name);
    const { dtype } = this.type(name);
    if (dtype !== "i64") return this.exact(name);
    if (entry.isOutside && this.narrow(name) === undefined)
      entry.narrow = this.#captureAs(this.#outerTable.indices(name));
    entry.narrow ??=
      entry.constant === undefined
        ? this.#builder.emitOne("Cast", [this.exact(name)], { to: "i32" })
        : this.#builder.constant(toI32(name, entry.constant));
    return entry.narrow;
  }
}

function expectTensor(name: string, { sequence }: Entry): void {
  if (sequence !== undefined) unsupported(`value ${quote(name)} is a sequence, read as a tensor`);
}

function toI32(name: string, { shape, ...tensor }: HostTensor): HostTensor {
  try {
    return literals(toNumbers({ shape, ...tensor } as HostTensor), "i32", shape);
  } catch (cause) {
    throw new MpError("MP_UNSUPPORTED", `onnx: indices ${quote(name)} exceed i32`, { cause });
  }
}
