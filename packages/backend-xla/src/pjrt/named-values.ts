import { Struct } from "./struct.js";

/** PJRT_NamedValue_Type of each type of named value. */
const KIND = { string: 0, integer: 1, boolean: 4 } as const;

export type NamedOptions = Readonly<Record<string, string | number | boolean>>;

/** An array of PJRT_NamedValue; it keeps alive the memory that the array points to. */
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
}
