/**
 * Argument structs of the C interface, one for each function. `layout.json` has the offset of every field and
 * the index of every function. It was made from `pjrt_c_api.h` of version 0.114; for fields that version 0.81
 * has too, a C++ compiler gives the same offsets there. A plugin reads only `struct_size` bytes of a struct,
 * so this table serves older and newer plugins.
 */
import koffi from "koffi";
import layout from "./layout.json" with { type: "json" };

type Layout = typeof layout;
type StructName = keyof Layout;
/** The name of a function, and of the struct that is its argument. */
export type FunctionName = { [N in StructName]: Layout[N] extends { slot: number } ? N : never }[StructName];
export type FieldName<N extends StructName> = keyof Layout[N]["fields"];

/** Memory to which a field can point; the object keeps alive what the bytes themselves point to. */
interface Memory {
  readonly bytes: Uint8Array;
}

/** A value for a field. For memory, the field gets the address, and the struct keeps the memory alive. */
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

  /** Reads text: `field` has its address, `length` its length. */
  text(field: FieldName<N>, length: FieldName<N>): string {
    return textAt(this.pointer(field), this.number(length));
  }
}

/** The index of a function in the plugin's table. */
export const slotOf = (name: FunctionName): number => layout[name].slot;

function addressOf(value: ArrayBufferView | Memory): bigint {
  const memory = "bytes" in value ? value.bytes : value;
  return memory.byteLength === 0 ? 0n : BigInt(koffi.address(memory));
}

/** Copies memory of the plugin. */
export function bytesAt(address: bigint, length: number): Uint8Array {
  return length === 0 ? new Uint8Array(0) : new Uint8Array(koffi.view(address, length)).slice();
}

const textAt = (address: bigint, length: number): string =>
  Buffer.from(bytesAt(address, length)).toString("utf8");
