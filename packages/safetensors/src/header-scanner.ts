// A scanner for the JSON of a safetensors header, over its bytes. JSON.parse is unsafe for untrusted files: of two equal
// keys it keeps the last, so that two readers may see two dtypes; it rounds 2^53 + 1, and accepts any nesting. This
// scanner does not recurse, and knows only what a header may contain: strings, unsigned integers, objects and arrays.
import { quote, refuse, type SafetensorsProblem } from "./problem.js";

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const SPACE = 0x20;

/** The letters after a backslash, and the characters that they stand for. */
const [LETTERS, CHARACTERS] = ['"\\/bfnrt', '"\\/\b\f\n\r\t'] as const;

/** `ignoreBOM` keeps a leading U+FEFF: otherwise two different keys would be equal. */
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

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

  /** Calls `visit` with each key; `visit` must scan the value. */
  members(visit: (key: string) => void): void {
    this.#expect("{");
    if (this.#accept("}")) return;
    // A tensor has three fields: for these an array costs a fifth of a set.
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

  /** Calls `visit` at each element; `visit` must scan the element. */
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
      // Joined in batches: concatenating piece by piece costs 32 bytes for each escape.
      if (pieces.length > 1024) text += pieces.splice(0).join("");
    }
    this.#at++;
    return text + pieces.join("");
  }

  /** Scans an integer from 0 to 2^53 - 1, without sign, fraction, exponent or leading zero. */
  integer(): number {
    this.#skipWhitespace();
    const start = this.#at;
    let value = 0;
    for (let digit = this.#digit(); digit >= 0; digit = this.#digit()) {
      if (this.#at > start && value === 0) this.fail("a number starts with 0");
      value = value * 10 + digit;
      // Ten times the last exact value is inexact, but still above the limit: one test for each digit is enough.
      if (value > Number.MAX_SAFE_INTEGER) this.fail("a number is above 2^53 - 1", "number-too-large");
      this.#at++;
    }
    if (this.#at === start) this.fail("expected an unsigned integer");
    return value;
  }

  /** Skips the padding; fails if anything but spaces follows. */
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
    // Short ASCII names, the usual case: a quarter of the cost of the decoder.
    if (all < 0x80 && piece.length <= 64) return Reflect.apply(String.fromCharCode, undefined, piece);
    try {
      return decoder.decode(piece);
    } catch {
      this.#at = start;
      return this.fail("a string is not valid UTF-8", "invalid-utf8");
    }
  }

  /** True at the end of the string, false at an escape. */
  #atQuote(): boolean {
    const byte = this.#bytes[this.#at];
    if (byte === QUOTE) return true;
    if (byte === BACKSLASH) return false;
    return this.fail(byte === undefined ? "a string does not end" : "a string holds a control character");
  }

  #escape(): string {
    const simple = LETTERS.indexOf(String.fromCharCode(this.#bytes[this.#at + 1] ?? 0));
    if (simple >= 0) {
      this.#at += 2;
      return CHARACTERS[simple] as string;
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
