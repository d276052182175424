/**
 * Arguments of the C interface's functions, which each take one struct. `layout.json` has the place of every field and
 * the number of every function: made once from `pjrt_c_api.h` of version 0.114, and compared with what a C++ compiler
 * says of the header of 0.81, where all fields that both have lie in the same places. A plugin reads as much of a struct
 * as its `struct_size` says, so that one table serves older and newer plugins.
 */
import koffi from "koffi";
import layout from "./layout.json" with { type: "json" };

type Layout = typeof layout;
type StructName = keyof Layout;
/** A struct that is the argument of the function of that name. */
export type FunctionName = { [N in StructName]: Layout[N] extends { slot: number } ? N : never }[StructName];
export type FieldName<N extends StructName> = keyof Layout[N]["fields"];

/** Memory, with what it points to. */
interface Memory {
  readonly bytes: Uint8Array;
}

/** What a field may be set to. Of memory, the field gets the address, and the struct keeps it alive. */
export type FieldValue = bigint | number | boolean | ArrayBufferView | Memory;

interface Field {
  readonly at: number;
  readonly bytes: number;
}

/** A struct in memory that the garbage collector does not move. */
export class Struct<N extends StructName = StructName> {
  readonly bytes: Uint8Array;
  readonly #view: DataView;
  readonly #fields: Readonly<Record<FieldName<N>, Field>>;
  #kept: Partial<Record<FieldName<N>, FieldValue>> | undefined;

  constructor(name: N, values: { readonly [F in FieldName<N>]?: FieldValue } = {}) {
    const { size, fields } = layout[name];
    this.bytes = new Uint8Array(new ArrayBuffer(size));
    this.#view = new DataView(this.bytes.buffer);
    this.#fields = fields as unknown as Readonly<Record<FieldName<N>, Field>>;
    this.#view.setBigUint64(0, BigInt(size), true);
    for (const field in values) this.set(field, values[field] as FieldValue);
  }

  set(field: FieldName<N>, value: FieldValue): void {
    const { at, bytes } = this.#fields[field];
    if (typeof value === "object") {
      this.#kept = { ...this.#kept, [field]: value } as Partial<Record<FieldName<N>, FieldValue>>;
      this.#view.setBigUint64(at, addressOf(value), true);
    } else if (bytes === 8) this.#view.setBigInt64(at, BigInt(value), true);
    else if (bytes === 4) this.#view.setInt32(at, Number(value), true);
    else this.#view.setUint8(at, Number(value));
  }

  /** A pointer or a large integer. */
  pointer(field: FieldName<N>): bigint {
    return this.#view.getBigUint64(this.#fields[field].at, true);
  }

  number(field: FieldName<N>): number {
    const { at, bytes } = this.#fields[field];
    if (bytes === 8) return Number(this.#view.getBigInt64(at, true));
    return bytes === 4 ? this.#view.getInt32(at, true) : this.#view.getUint8(at);
  }

  truth(field: FieldName<N>): boolean {
    return this.number(field) !== 0;
  }

  /** The text that one field points to and another has the length of. */
  text(field: FieldName<N>, length: FieldName<N>): string {
    return textAt(this.pointer(field), this.number(length));
  }
}

/** The number of a function in the plugin's table. */
export const slotOf = (name: FunctionName): number => layout[name].slot;

export const structSize = (name: StructName): number => layout[name].size;

function addressOf(value: ArrayBufferView | Memory): bigint {
  const memory = "bytes" in value ? value.bytes : value;
  return memory.byteLength === 0 ? 0n : BigInt(koffi.address(memory));
}

/** A copy of memory of the plugin. */
export function bytesAt(address: bigint, length: number): Uint8Array {
  return length === 0 ? new Uint8Array(0) : new Uint8Array(koffi.view(address, length)).slice();
}

const textAt = (address: bigint, length: number): string =>
  Buffer.from(bytesAt(address, length)).toString("utf8");
