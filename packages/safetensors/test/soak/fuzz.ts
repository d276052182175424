// Mutation fuzzing of the safetensors reader. Every input is either accepted, and then agrees with JSON.parse and
// survives being written again, or refused with a typed error; anything else throws how to reproduce it.
import { SafetensorsError } from "../../src/errors.js";
import { parse, type SafetensorsFile } from "../../src/parse.js";
import { SAFETENSORS_PROBLEMS } from "../../src/problem.js";
import { serialize } from "../../src/serialize.js";

export interface FuzzStatistics {
  readonly count: number;
  readonly accepted: number;
  /** Refusals by `details.problem`. */
  readonly refused: Readonly<Record<string, number>>;
  /** Longest processor time that one input took. */
  readonly slowestMs: number;
  readonly largestBytes: number;
}

type Random = (below: number) => number;

/** Mulberry32: small, seeded, good enough to pick mutations. */
function randomOf(seed: number): Random {
  let state = seed >>> 0;
  return (below) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return Math.floor((((t ^ (t >>> 14)) >>> 0) / 2 ** 32) * below);
  };
}

const seeds: readonly Uint8Array[] = [
  serialize([]),
  serialize([], [["format", "pt"]]),
  serialize([["w", { dtype: "F32", shape: [2, 3], data: new Float32Array(6) }]]),
  serialize([["s", { dtype: "I64", shape: [], data: BigInt64Array.of(1n) }]], [["step", "1"]]),
  serialize(
    [
      ["a/kernel", { dtype: "F32", shape: [4, 1], data: new Float32Array(4) }],
      ["a/bias", { dtype: "F16", shape: [1], data: new Uint16Array(1) }],
      ["mask", { dtype: "BOOL", shape: [2], data: Uint8Array.of(1, 0) }],
      ["none", { dtype: "F64", shape: [0, 7], data: new Float64Array(0) }],
      ["packed", { dtype: "F4", shape: [4], data: new Uint8Array(2) }],
      ['\u{1f600}"\\\n', { dtype: "F8_E4M3", shape: [3], data: new Uint8Array(3) }],
    ],
    [
      ["__proto__", "é"],
      ["b", ""],
    ],
  ),
];

/** Pieces of headers: tokens, near tokens, and text that often breaks scanners. */
const fragments = [
  ..."{}[]:,\"\\ \t\n\r\0/-+.eE0123456789'x",
  '"a"',
  "{}",
  "[]",
  "null",
  "true",
  "-1",
  "1.0",
  "1e3",
  "00",
  "4294967296",
  "9007199254740991",
  "9007199254740992",
  "9007199254740993",
  "18446744073709551615",
  "18446744073709551616",
  '"dtype":"F32"',
  '"dtype":"I16"',
  '"shape":[0]',
  '"data_offsets":[0,0]',
  '"__metadata__":{}',
  '"__metadata__":{"a":"b"}',
  '"__proto__"',
  '"n":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}',
  '"n":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},',
  "\\u0061",
  "\\ud800",
  "\\ud83d\\ude00",
  "\u{1f600}",
  "\ufeff",
  "F16",
  "BF16",
  "BOOL",
  "U64",
].map((text) => new TextEncoder().encode(text));

const bytesThatMatter = Uint8Array.of(
  0,
  0x09,
  0x20,
  0x22,
  0x5c,
  0x7b,
  0x7d,
  0x7f,
  0x80,
  0xc0,
  0xed,
  0xf4,
  0xff,
);

function splice(bytes: Uint8Array, at: number, remove: number, insert: Uint8Array): Uint8Array {
  const out = new Uint8Array(bytes.length - remove + insert.length);
  out.set(bytes.subarray(0, at));
  out.set(insert, at);
  out.set(bytes.subarray(at + remove), at + insert.length);
  return out;
}

function pick<T>(items: readonly T[], random: Random): T {
  return items[random(items.length)] as T;
}

const numbers = [
  "0",
  "1",
  "2",
  "8",
  "16",
  "4294967296",
  "9007199254740991",
  "9007199254740992",
  "18446744073709551616",
];

/** Replaces a number or string by another, or repeats a tensor's entry, so that the layout rules are reached too. */
function mutateToken(text: Uint8Array, random: Random): Uint8Array {
  const latin1 = Buffer.from(text).toString("latin1");
  const repeatEntry = random(8) === 0;
  const tokens = [...latin1.matchAll(repeatEntry ? /"[^"]*":\{[^{}]*\},/g : /"[^"]*"|\d+/g)];
  if (tokens.length === 0) return text;
  const { 0: token, index } = pick(tokens, random);
  let other = pick(tokens, random)[0];
  if (repeatEntry) other = token + (random(2) === 0 ? token.replace('"', '"x') : token);
  else if (/^\d/.test(token))
    other = random(2) === 0 ? pick(numbers, random) : String(Number(token) + random(5) - 2);
  return splice(text, index, token.length, Buffer.from(other, "latin1"));
}

function mutateText(text: Uint8Array, random: Random): Uint8Array {
  const at = random(text.length + 1);
  const left = text.length - at;
  if (random(2) === 0) return mutateToken(text, random);
  switch (random(6)) {
    case 0:
      return splice(text, at, 0, pick(fragments, random));
    case 1:
      return splice(text, at, Math.min(left, 1 + random(8)), new Uint8Array(0));
    case 2:
      return splice(text, at, Math.min(left, 1 + random(3)), pick(fragments, random));
    case 3: {
      const from = random(text.length + 1);
      return splice(text, at, 0, text.slice(from, from + 1 + random(60)));
    }
    case 4:
      return splice(
        text,
        at,
        Math.min(left, 1),
        bytesThatMatter.slice(random(bytesThatMatter.length)).slice(0, 1),
      );
    default:
      return splice(text, at, Math.min(left, 1), Uint8Array.of(random(256)));
  }
}

function headerLengthOf(bytes: Uint8Array): number {
  return Number(new DataView(bytes.buffer, bytes.byteOffset).getBigUint64(0, true));
}

/** Mutates the header's text under a true length, so that the scanner is reached; at times length and data as well. */
function mutate(seed: Uint8Array, random: Random): Uint8Array {
  const length = headerLengthOf(seed);
  let text: Uint8Array = seed.slice(8, 8 + length);
  for (let rounds = random(3); rounds >= 0; rounds--) text = mutateText(text, random);
  let data = seed.subarray(8 + length);
  if (random(16) === 0) data = mutateText(data, random);
  const out = new Uint8Array(8 + text.length + data.length);
  new DataView(out.buffer).setBigUint64(0, BigInt(text.length), true);
  out.set(text, 8);
  out.set(data, 8 + text.length);
  if (random(16) === 0) out[random(8)] = random(256);
  return random(64) === 0 ? out.slice(0, random(out.length)) : out;
}

function check(bytes: Uint8Array): string | undefined {
  let file: SafetensorsFile;
  try {
    file = parse(bytes);
  } catch (error) {
    const { problem } = SafetensorsError.is(error, "SAFETENSORS_PARSE") ? error.details : {};
    if ((SAFETENSORS_PROBLEMS as readonly unknown[]).includes(problem)) return String(problem);
    throw error;
  }
  const { tensors, metadata } = file;
  const json: unknown = JSON.parse(new TextDecoder().decode(bytes.subarray(8, 8 + headerLengthOf(bytes))));
  const names = Object.keys(json as object).filter((name) => name !== "__metadata__");
  let dataBytes = 0;
  for (const { data } of tensors.values()) dataBytes += data.length;
  if (names.length !== tensors.size || !names.every((name) => tensors.has(name))) {
    throw new Error("accepted names differ from JSON.parse's");
  }
  if (8 + headerLengthOf(bytes) + dataBytes !== bytes.length) throw new Error("accepted with stray bytes");
  const again = serialize(tensors, metadata);
  if (Buffer.compare(again, serialize(parse(again).tensors, metadata)) !== 0)
    throw new Error("does not round trip");
  return undefined;
}

/**
 * Runs `count` mutated files through the reader. The same seed gives the same files.
 * @throws Error with the seed, the input's index and its bytes as hex, for the first input that is mishandled
 */
export function fuzzSafetensors(options: { readonly count: number; readonly seed: number }): FuzzStatistics {
  const random = randomOf(options.seed);
  // Accepted mutants join the seeds, so that mutations pile up beyond what a few rounds can reach.
  const corpus = [...seeds];
  const refused: Record<string, number> = {};
  let accepted = 0;
  let slowestMs = 0;
  let largestBytes = 0;
  for (let index = 0; index < options.count; index++) {
    const bytes = mutate(pick(corpus, random), random);
    const start = process.cpuUsage();
    let problem: string | undefined;
    try {
      problem = check(bytes);
    } catch (cause) {
      const hex = Buffer.from(bytes).toString("hex");
      throw new Error(`safetensors fuzz: seed ${options.seed}, input ${index}, bytes ${hex}: ${cause}`, {
        cause,
      });
    }
    const { user, system } = process.cpuUsage(start);
    slowestMs = Math.max(slowestMs, (user + system) / 1000);
    largestBytes = Math.max(largestBytes, bytes.length);
    if (problem !== undefined) refused[problem] = (refused[problem] ?? 0) + 1;
    else {
      accepted++;
      const slot = Math.min(corpus.length, seeds.length + random(256));
      if (bytes.length > 150 && bytes.length < 2000 && random(8) === 0) corpus[slot] = bytes;
    }
  }
  return { count: options.count, accepted, refused, slowestMs, largestBytes };
}
