// A scanner for the JSON of a safetensors header, over its bytes. JSON.parse will not do for files that are not
// trusted: of two equal keys it keeps the last (two readers may then see two dtypes), it rounds 2^53 + 1, and it
// builds whatever nesting it is given. This one has no recursion of its own and knows strings, unsigned integers,
// objects and arrays, which is all that a header may hold.
import { quote, refuse, type SafetensorsProblem } from "./problem.js";

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const SPACE = 0x20;

const simpleEscapes: ReadonlyMap<number, string> = new Map(
  Object.entries({
    '"': '"',
    "\\": "\\",
    "/": "/",
    b: "\b",
    f: "\f",
    n: "\n",
    r: "\r",
    t: "\t",
  }).map(([letter, text]) => [letter.charCodeAt(0), text]),
);

let decoder: InstanceType<typeof TextDecoder> | undefined;

/** ignoreBOM keeps a leading U+FEFF, which otherwise would make two different keys equal. */
function decodeUtf8(bytes: Uint8Array): string {
  decoder ??= new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  return decoder.decode(bytes);
}

export class HeaderScanner {
  readonly #bytes: Uint8Array;
  readonly #fileOffset: number;
  #at = 0;

  /** @param fileOffset where the bytes start in the file, for messages */
  constructor(bytes: Uint8Array, fileOffset: number) {
    this.#bytes = bytes;
    this.#fileOffset = fileOffset;
  }

  fail(message: string, problem: SafetensorsProblem = "invalid-json"): never {
    const byte = this.#fileOffset + this.#at;
    return refuse(problem, `${message}, at byte ${byte} of the file`, { byte });
  }

  /** Calls `visit` after each key, with the scanner in front of its value. */
  members(visit: (key: string) => void): void {
    this.#expect("{");
    if (this.#accept("}")) return;
    // A tensor has three fields: an array of them costs a fifth of a set, which is made for larger objects.
    const few: string[] = [];
    let many: Set<string> | undefined;
    do {
      const key = this.string();
      if (many?.has(key) ?? few.includes(key)) this.fail(`key ${quote(key)} occurs twice`, "duplicate-key");
      if (few.length < 8) few.push(key);
      else many = (many ?? new Set(few)).add(key);
      this.#expect(":");
      visit(key);
    } while (this.#accept(","));
    this.#expect("}");
  }

  /** Calls `visit` with the scanner in front of each element. */
  elements(visit: () => void): void {
    this.#expect("[");
    if (this.#accept("]")) return;
    do visit();
    while (this.#accept(","));
    this.#expect("]");
  }

  string(): string {
    this.#expect('"');
    const pieces = [this.#plainText()];
    let text = "";
    while (!this.#atQuote()) {
      pieces.push(this.#escape(), this.#plainText());
      // Joined in batches: one concatenation a piece costs 32 bytes an escape, thousands of pieces cost little.
      if (pieces.length > 1024) text += pieces.splice(0).join("");
    }
    this.#at++;
    return text + pieces.join("");
  }

  /** An integer of 0 … 2^53 - 1, without sign, fraction, exponent or leading zero. */
  integer(): number {
    this.#skipWhitespace();
    const start = this.#at;
    let value = 0;
    for (let digit = this.#digit(); digit >= 0; digit = this.#digit()) {
      if (this.#at > start && value === 0) this.fail("a number starts with 0");
      value = value * 10 + digit;
      // The last exact value times ten is inexact yet still beyond the limit, so one test a digit is enough.
      if (value > Number.MAX_SAFE_INTEGER) this.fail("a number is above 2^53 - 1", "number-too-large");
      this.#at++;
    }
    if (this.#at === start) this.fail("expected an unsigned integer");
    return value;
  }

  /** Spaces are the padding that the format allows after the object. */
  end(): void {
    while (this.#bytes[this.#at] === SPACE) this.#at++;
    if (this.#at < this.#bytes.length) this.fail("something follows the header's object");
  }

  #digit(): number {
    const byte = this.#bytes[this.#at] ?? 0;
    return byte >= 0x30 && byte <= 0x39 ? byte - 0x30 : -1;
  }

  #plainText(): string {
    const start = this.#at;
    let all = 0;
    for (;;) {
      const byte = this.#bytes[this.#at];
      if (byte === undefined || byte < SPACE || byte === QUOTE || byte === BACKSLASH) break;
      all |= byte;
      this.#at++;
    }
    const piece = this.#bytes.subarray(start, this.#at);
    // A quarter of the decoder's cost for the short ASCII names that headers are made of.
    if (all < 0x80 && piece.length <= 64) return Reflect.apply(String.fromCharCode, undefined, piece);
    try {
      return decodeUtf8(piece);
    } catch {
      this.#at = start;
      return this.fail("a string is not valid UTF-8", "invalid-utf8");
    }
  }

  /** False in front of an escape. */
  #atQuote(): boolean {
    const byte = this.#bytes[this.#at];
    if (byte === QUOTE) return true;
    if (byte === BACKSLASH) return false;
    return this.fail(byte === undefined ? "a string does not end" : "a string holds a control character");
  }

  #escape(): string {
    const letter = this.#bytes[this.#at + 1] ?? 0;
    const simple = simpleEscapes.get(letter);
    if (simple !== undefined) {
      this.#at += 2;
      return simple;
    }
    const unit = this.#codeUnit();
    if (unit >= 0xdc00 && unit <= 0xdfff) this.#loneSurrogate();
    if (unit < 0xd800 || unit > 0xdbff) return String.fromCharCode(unit);
    if (this.#bytes[this.#at] !== BACKSLASH) this.#loneSurrogate();
    const low = this.#codeUnit();
    if (low < 0xdc00 || low > 0xdfff) this.#loneSurrogate();
    return String.fromCharCode(unit, low);
  }

  #loneSurrogate(): never {
    return this.fail("a string holds half of a surrogate pair", "invalid-utf8");
  }

  #codeUnit(): number {
    const text = String.fromCharCode(...this.#bytes.subarray(this.#at, this.#at + 6));
    if (!/^\\u[0-9a-fA-F]{4}$/.test(text)) this.fail("unknown escape in a string");
    this.#at += 6;
    return Number.parseInt(text.slice(2), 16);
  }

  #skipWhitespace(): void {
    for (;;) {
      const byte = this.#bytes[this.#at];
      if (byte !== SPACE && byte !== 0x09 && byte !== 0x0a && byte !== 0x0d) return;
      this.#at++;
    }
  }

  #accept(character: string): boolean {
    this.#skipWhitespace();
    if (this.#bytes[this.#at] !== character.charCodeAt(0)) return false;
    this.#at++;
    return true;
  }

  #expect(character: string): void {
    if (this.#accept(character)) return;
    const found = this.#bytes[this.#at];
    this.fail(
      `expected ${character}, found ${found === undefined ? "the header's end" : quote(String.fromCharCode(found))}`,
    );
  }
}
