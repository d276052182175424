// Walks the wire format of a model once before a reader builds anything from it. Every byte is visited at
// most once per level and nothing is allocated, so time is linear and memory constant in the input. The scan
// is stricter than protobuf where two readers could disagree: a known field must have its schema's wire type,
// a singular field may occur once, varints are minimal, strings are UTF-8.
import { refuse } from "./problem.js";
import { defaultScanLimits, type ScanLimits } from "./scan-limits.js";
import { type FieldForm, type FieldPlan, type MessagePlan, modelPlan } from "./scan-plan.js";

const NO_COUNTS = { depth: 0, messages: 0, fields: 0, numbers: 0, nodes: 0, tensors: 0, tensorBytes: 0 };

/** The counts of a scan, which help to choose limits. */
type ScanReport = Readonly<typeof NO_COUNTS>;

const VARINT = 0;
const FIXED64 = 1;
const LENGTH_DELIMITED = 2;
const GROUP_START = 3;
const GROUP_END = 4;
const FIXED32 = 5;

const wireTypeOf: Readonly<Record<FieldForm, number>> = {
  varint: VARINT,
  fixed32: FIXED32,
  fixed64: FIXED64,
  bytes: LENGTH_DELIMITED,
  string: LENGTH_DELIMITED,
  message: LENGTH_DELIMITED,
};

const MAX_FIELD_NUMBER = 2 ** 29 - 1;
const utf8 = new TextDecoder("utf-8", { fatal: true });

/**
 * Walks the bytes of an ONNX model without building anything from them.
 * @throws MP_PARSE for bytes that are not a well-formed model or exceed a limit; `details` holds `problem`,
 * `offset` and, for a limit, its name, the limit and the value found
 */
export function scanModel(bytes: Uint8Array, limits: Partial<ScanLimits> = {}): ScanReport {
  const scanner = new Scanner(bytes, { ...defaultScanLimits, ...limits });
  scanner.limit("maxBytes", bytes.length, 0);
  scanner.message(modelPlan, bytes.length, 1);
  return scanner.totals;
}

const problemOfLimit = {
  maxBytes: "too-many-bytes",
  maxDepth: "too-deep",
  maxMessages: "too-many-messages",
  maxFields: "too-many-fields",
  maxNumbers: "too-many-numbers",
  maxStringBytes: "string-too-long",
  maxNodes: "too-many-nodes",
  maxTensors: "too-many-tensors",
  maxTensorBytes: "too-much-data",
} as const satisfies Readonly<Record<keyof ScanLimits, string>>;

/** Names, as in the schema, of the tensor fields that hold data. */
const dataFields: ReadonlySet<string> = new Set([
  "raw_data",
  "float_data",
  "int32_data",
  "int64_data",
  "uint64_data",
  "double_data",
  "string_data",
]);

class Scanner {
  readonly #bytes: Uint8Array;
  readonly #limits: ScanLimits;
  readonly totals = { ...NO_COUNTS };
  #at = 0;

  constructor(bytes: Uint8Array, limits: ScanLimits) {
    this.#bytes = bytes;
    this.#limits = limits;
  }

  limit(name: keyof ScanLimits, value: number, offset: number): void {
    const limit = this.#limits[name];
    if (value <= limit) return;
    refuse(problemOfLimit[name], `${value} exceeds ${name} of ${limit}, at byte ${offset}`, {
      offset,
      limit,
      limitName: name,
      value,
    });
  }

  message(plan: MessagePlan, end: number, depth: number): void {
    const start = this.#at;
    const { totals } = this;
    this.limit("maxDepth", depth, start);
    if (depth > totals.depth) totals.depth = depth;
    this.limit("maxMessages", ++totals.messages, start);
    if (plan.counted === "node") this.limit("maxNodes", ++totals.nodes, start);
    else if (plan.counted === "tensor") this.limit("maxTensors", ++totals.tensors, start);
    // The schema's field numbers stay below 32.
    let seen = 0;
    while (this.#at < end) {
      const offset = this.#at;
      this.limit("maxFields", ++totals.fields, offset);
      const tag = this.#varint(end);
      const number = Math.floor(tag / 8);
      const wireType = tag % 8;
      if (number < 1 || number > MAX_FIELD_NUMBER) {
        this.#refuse("invalid-tag", `field number ${number} is outside 1 … 2^29 - 1`, offset);
      }
      const field = plan.fields[number];
      if (field === undefined) {
        this.#skip(wireType, end, offset);
        continue;
      }
      const bit = 1 << number;
      if (!field.repeated && (seen & bit) !== 0) {
        this.#refuse("duplicate-field", `${plan.name}.${field.name} stands twice`, offset);
      }
      seen |= bit;
      this.#field(plan, field, wireType, end, offset, depth);
    }
  }

  #field(
    plan: MessagePlan,
    field: FieldPlan,
    wireType: number,
    end: number,
    offset: number,
    depth: number,
  ): void {
    const wanted = wireTypeOf[field.form];
    const packed = wireType === LENGTH_DELIMITED && wanted !== LENGTH_DELIMITED && field.repeated;
    if (wireType !== wanted && !packed) {
      const problem = wireType === GROUP_START || wireType === GROUP_END ? "group" : "wire-type";
      this.#refuse(
        problem,
        `${plan.name}.${field.name} has wire type ${wireType}, the schema says ${wanted}`,
        offset,
      );
    }
    let start = this.#at;
    if (wireType !== LENGTH_DELIMITED) {
      if (field.repeated) this.limit("maxNumbers", ++this.totals.numbers, offset);
      this.#skip(wireType, end, offset);
    } else {
      const stop = this.#length(end, offset);
      start = this.#at;
      if (field.message !== undefined) this.message(field.message, stop, depth + 1);
      else if (packed) this.#packed(field, stop, offset);
      else if (field.form === "string") this.#string(stop, `${plan.name}.${field.name}`, offset);
      this.#at = stop;
    }
    if (plan.counted === "tensor" && dataFields.has(field.name)) {
      this.totals.tensorBytes += this.#at - start;
      this.limit("maxTensorBytes", this.totals.tensorBytes, offset);
    }
  }

  #packed(field: FieldPlan, stop: number, offset: number): void {
    const size = stop - this.#at;
    if (field.form !== "varint") {
      const width = field.form === "fixed32" ? 4 : 8;
      if (size % width !== 0) {
        this.#refuse("truncated", `${size} packed bytes are no multiple of ${width}`, offset);
      }
      this.totals.numbers += size / width;
      this.limit("maxNumbers", this.totals.numbers, offset);
      return;
    }
    while (this.#at < stop) {
      this.limit("maxNumbers", ++this.totals.numbers, this.#at);
      this.#varint(stop);
    }
  }

  #string(stop: number, name: string, offset: number): void {
    this.limit("maxStringBytes", stop - this.#at, offset);
    for (let at = this.#at; at < stop; at++) {
      if ((this.#bytes[at] as number) < 0x80) continue;
      try {
        utf8.decode(this.#bytes.subarray(at, stop));
      } catch {
        this.#refuse("invalid-utf8", `${name} is not UTF-8`, offset);
      }
      return;
    }
  }

  #skip(wireType: number, end: number, offset: number): void {
    if (wireType === VARINT) this.#varint(end);
    else if (wireType === FIXED64) this.#advance(8, end, offset);
    else if (wireType === FIXED32) this.#advance(4, end, offset);
    else if (wireType === LENGTH_DELIMITED) this.#at = this.#length(end, offset);
    else if (wireType === GROUP_START || wireType === GROUP_END) {
      this.#refuse("group", "groups do not occur in ONNX", offset);
    } else this.#refuse("invalid-tag", `wire type ${wireType} does not exist`, offset);
  }

  #advance(count: number, end: number, offset: number): void {
    if (end - this.#at < count) this.#truncated(count, end, offset);
    this.#at += count;
  }

  /** Reads the length of a payload. @returns the position where the payload ends */
  #length(end: number, offset: number): number {
    const length = this.#varint(end);
    if (length > end - this.#at) this.#truncated(length, end, offset);
    return this.#at + length;
  }

  /** Reads a minimal varint of at most 64 bits; above 2^53 the value is approximate, which suffices here. */
  #varint(end: number): number {
    const start = this.#at;
    let value = 0;
    let scale = 1;
    for (let at = start; at < end; at++) {
      const byte = this.#bytes[at] as number;
      const count = at - start + 1;
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) {
        if ((byte === 0 && count > 1) || (count === 10 && byte > 1)) {
          this.#refuse("invalid-varint", "a varint is longer than its value needs or than 64 bits", start);
        }
        this.#at = at + 1;
        return value;
      }
      if (count === 10) this.#refuse("invalid-varint", "a varint is longer than 10 bytes", start);
      scale *= 128;
    }
    return this.#refuse("truncated", `a varint runs beyond byte ${end}, where its message ends`, start);
  }

  #truncated(length: number, end: number, offset: number): never {
    return this.#refuse(
      "truncated",
      `${length} bytes are announced, ${end - this.#at} are left until byte ${end}, where the message ends`,
      offset,
    );
  }

  #refuse(problem: Parameters<typeof refuse>[0], message: string, offset: number): never {
    return refuse(problem, `${message}, at byte ${offset}`, { offset });
  }
}
