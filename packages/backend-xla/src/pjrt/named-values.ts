import { bytesAt, Struct, structSize } from "./struct.js";

/** The types of a named value, as the C interface numbers them (PJRT_NamedValue_Type). */
const KIND = { string: 0, integer: 1, integers: 2, float: 3, boolean: 4 } as const;

export type NamedOptions = Readonly<Record<string, string | number | boolean>>;

/** An array of PJRT_NamedValue, and what it points to. */
export class NamedValues {
  readonly bytes: Uint8Array;
  readonly structs: readonly Struct[];

  constructor(options: NamedOptions) {
    this.structs = Object.entries(options).map(([name, value]) => {
      const key = Buffer.from(name);
      const common = { name: key, name_size: key.length };
      if (typeof value === "string") {
        const text = Buffer.from(value);
        return new Struct("NamedValue", {
          ...common,
          type: KIND.string,
          value: text,
          value_size: text.length,
        });
      }
      const type = typeof value === "boolean" ? KIND.boolean : KIND.integer;
      return new Struct("NamedValue", { ...common, type, value, value_size: 1 });
    });
    this.bytes = Buffer.concat(this.structs.map(({ bytes }) => bytes));
  }

  /** The texts and numbers of an array of the plugin; those of other kinds are left out. */
  static read(address: bigint, count: number): Readonly<Record<string, string>> {
    const size = structSize("NamedValue");
    const entries = Array.from({ length: count }, (_, index) => {
      const one = new Struct("NamedValue");
      one.bytes.set(bytesAt(address + BigInt(index * size), size));
      return [one.text("name", "name_size"), NamedValues.#valueOf(one)] as const;
    });
    return Object.fromEntries(entries.filter((entry): entry is [string, string] => entry[1] !== undefined));
  }

  static #valueOf(one: Struct<"NamedValue">): string | undefined {
    const kind = one.number("type");
    if (kind === KIND.string) return one.text("value", "value_size");
    if (kind === KIND.integer) return String(one.number("value"));
    if (kind !== KIND.integers) return undefined;
    const bytes = bytesAt(one.pointer("value"), one.number("value_size") * 8);
    return [...new BigInt64Array(bytes.buffer)].join(".");
  }
}
