import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import { MpError } from "@mp/graph";

/**
 * A protobuf message that is written field by field, in the order of the field numbers. A program that only
 * writes models thus needs protobuf's wire format, but neither the schema nor the reader. Bytes are not
 * copied before `toBytes`.
 */
export class Message {
  readonly #fields: ((writer: BinaryWriter) => void)[] = [];
  #dataBytes = 0;

  /** Total bytes of the message's `bytes` fields: everything but names, numbers and lengths. */
  get dataBytes(): number {
    return this.#dataBytes;
  }

  /** Adds an integer field. @throws MP_OUT_OF_RANGE for a number that is not an i64 */
  integer(field: number, value: number | bigint): this {
    const isInRange =
      typeof value === "bigint" ? BigInt.asIntN(64, value) === value : Number.isSafeInteger(value);
    if (!isInRange) outOfRange(value, "i64");
    return this.#add((writer) => writer.tag(field, WireType.Varint).int64(value));
  }

  /** Adds a float field, rounded once from f64. @throws MP_OUT_OF_RANGE for a finite number beyond f32's range */
  float(field: number, value: number): this {
    const rounded = Math.fround(value);
    if (Number.isFinite(value) && !Number.isFinite(rounded)) outOfRange(value, "f32");
    return this.#add((writer) => writer.tag(field, WireType.Bit32).float(rounded));
  }

  text(field: number, value: string): this {
    return this.#add((writer) => writer.tag(field, WireType.LengthDelimited).string(value));
  }

  bytes(field: number, value: Uint8Array): this {
    this.#dataBytes += value.length;
    return this.#add((writer) => writer.tag(field, WireType.LengthDelimited).bytes(value));
  }

  message(field: number, value: Message): this {
    this.#dataBytes += value.dataBytes;
    return this.#add((writer) => {
      writer.tag(field, WireType.LengthDelimited).fork();
      value.#writeTo(writer);
      writer.join();
    });
  }

  texts(field: number, values: readonly string[]): this {
    for (const value of values) this.text(field, value);
    return this;
  }

  messages(field: number, values: readonly Message[]): this {
    for (const value of values) this.message(field, value);
    return this;
  }

  toBytes(): Uint8Array<ArrayBuffer> {
    const writer = new BinaryWriter();
    this.#writeTo(writer);
    return writer.finish();
  }

  #add(write: (writer: BinaryWriter) => unknown): this {
    this.#fields.push(write);
    return this;
  }

  #writeTo(writer: BinaryWriter): void {
    for (const write of this.#fields) write(writer);
  }
}

function outOfRange(value: number | bigint, type: string): never {
  throw new MpError("MP_OUT_OF_RANGE", `onnx: ${value} is no ${type}`, { details: { value, type } });
}
