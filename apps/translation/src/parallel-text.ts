/** Pairs of sentences as the model reads them: generated, or from files. */
import { existsSync } from "node:fs";
import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { type HostTensor, MpError, tensor } from "@mp/core";
import type { Options } from "./flags.js";
import { type Pair, sentencesToLearn, unseenSentences } from "./language/grammar.js";

/** Ids that are not words. */
export const PAD = 0;
export const BEGIN = 1;
export const END = 2;
export const UNKNOWN = 3;
const SPECIAL = ["<pad>", "<begin>", "<end>", "<unknown>"] as const;

export interface ParallelText {
  readonly train: readonly Pair[];
  readonly test: readonly Pair[];
  readonly source: Words;
  readonly target: Words;
  /** Words of the longest sentence of each language. */
  readonly longest: { readonly source: number; readonly target: number };
  readonly summary: Readonly<Record<string, unknown>>;
}

/** The vocabulary of one language. */
export class Words {
  readonly #words: readonly string[];
  readonly #ids: ReadonlyMap<string, number>;

  /** Keeps the `limit` most frequent words of the sentences; equally frequent ones in the order of code units. */
  constructor(sentences: readonly (readonly string[])[], limit: number) {
    const counts = new Map<string, number>();
    for (const word of sentences.flat()) counts.set(word, (counts.get(word) ?? 0) + 1);
    const order = [...counts].sort(([a, n], [b, m]) => m - n || (a < b ? -1 : 1));
    this.#words = [...SPECIAL, ...order.slice(0, limit).map(([word]) => word)];
    this.#ids = new Map(this.#words.map((word, id) => [word, id]));
  }

  get size(): number {
    return this.#words.length;
  }

  encode(words: readonly string[]): readonly number[] {
    return words.map((word) => this.#ids.get(word) ?? UNKNOWN);
  }

  /** The words up to the end mark. */
  decode(ids: readonly number[]): readonly string[] {
    const end = ids.indexOf(END);
    return ids.slice(0, end === -1 ? undefined : end).map((id) => this.#words[id] ?? "");
  }
}

/** @throws MP_IO for files that are missing, MP_PARSE for lines that are not pairs */
export async function loadParallelText(options: Options): Promise<ParallelText> {
  const { data, pairs, testPairs, vocab } = options;
  if (data === undefined) {
    const parts = { train: sentencesToLearn(pairs), test: unseenSentences(testPairs) };
    return buildText(parts, Number.POSITIVE_INFINITY, { generated: pairs });
  }
  return buildText(await readPairs(data, options), vocab, { path: data });
}

type Parts = Pick<ParallelText, "train" | "test">;

function buildText({ train, test }: Parts, vocab: number, summary: ParallelText["summary"]): ParallelText {
  const sentences = (pairs: readonly Pair[], side: keyof Pair) => pairs.map((pair) => pair[side]);
  const source = new Words(sentences(train, "source"), vocab);
  const target = new Words(sentences(train, "target"), vocab);
  const longest = (side: keyof Pair): number =>
    Math.max(...sentences([...train, ...test], side).map(({ length }) => length));
  return {
    train,
    test,
    source,
    target,
    longest: { source: longest("source"), target: longest("target") },
    summary: { ...summary, train: train.length, test: test.length, words: [source.size, target.size] },
  };
}

/** Without a file of test pairs, every pair at a multiple of this number is a test pair. */
const HELD_OUT = 20;

async function readPairs(path: string, options: Options): Promise<Parts> {
  const { longest, testPairs } = options;
  const isFolder = (await stat(path).catch(() => undefined))?.isDirectory() === true;
  const fits = ({ source, target }: Pair): boolean =>
    [source, target].every(({ length }) => length > 0 && length <= longest);
  const all = (await readPart(path, "train", isFolder)).filter(fits);
  const given = isFolder ? await readPart(path, "test", true).catch(absent) : undefined;
  const isTest = (index: number): boolean => index % HELD_OUT === HELD_OUT - 1;
  const train = given === undefined ? all.filter((_, index) => !isTest(index)) : all;
  const test = (given?.filter(fits) ?? all.filter((_, index) => isTest(index))).slice(0, testPairs);
  if (train.length === 0 || test.length === 0) {
    throw new MpError(
      "MP_PARSE",
      `${path}: has ${train.length} pairs to learn from and ${test.length} to be judged by, of at most ${longest} words`,
    );
  }
  return { train, test };
}

function absent(error: unknown): undefined {
  if (MpError.is(error, "MP_IO")) return undefined;
  throw error;
}

/** Reads `part.tsv`, or `part.source` and `part.target`, or the path itself if it is a TSV file. */
async function readPart(path: string, part: string, isFolder: boolean): Promise<readonly Pair[]> {
  const tsv = isFolder ? join(path, `${part}.tsv`) : path;
  if (!isFolder || existsSync(tsv)) {
    return (await readLines(tsv)).map((line, index) => {
      const [source, target, ...more] = line.split("\t");
      if (source === undefined || target === undefined || more.length > 0) {
        throw new MpError(
          "MP_PARSE",
          `${tsv}: line ${index + 1} is not a sentence, a tab and its translation`,
        );
      }
      return { source: wordsIn(source), target: wordsIn(target) };
    });
  }
  const files = [`${part}.source`, `${part}.target`].map((name) => readLines(join(path, name)));
  const [source = [], target = []] = await Promise.all(files);
  if (source.length !== target.length) {
    throw new MpError(
      "MP_PARSE",
      `${path}: ${part}.source has ${source.length} lines, ${part}.target ${target.length}`,
    );
  }
  return source.map((line, index) => ({ source: wordsIn(line), target: wordsIn(target[index] as string) }));
}

async function readLines(file: string): Promise<readonly string[]> {
  const text = await readFile(file, "utf8").catch((cause: unknown) => {
    throw new MpError(
      "MP_IO",
      `${file}: cannot be read; --data takes a TSV file, or a folder with train.tsv or train.source and train.target`,
      { cause },
    );
  });
  return text.replace(/\r?\n$/, "").split(/\r?\n/);
}

/** Splits a line into words in lower case; punctuation marks are words. */
const wordsIn = (line: string): readonly string[] =>
  line.toLowerCase().match(/[\p{L}\p{M}\p{N}'-]+|[^\s\p{L}\p{N}]/gu) ?? [];

/** Sentences as the network takes them, padded to one length. */
export type EncodedPairs = {
  /** [pairs, source] */
  readonly source: HostTensor<"i32">;
  /** [pairs, target + 1], the decoder's input: the begin mark, then the translation. */
  readonly seen: HostTensor<"i32">;
  /** [pairs, target + 1], the decoder's labels: the translation, then the end mark. */
  readonly said: HostTensor<"i32">;
};

export function encodePairs(pairs: readonly Pair[], { source, target, longest }: ParallelText): EncodedPairs {
  const pad = (rows: readonly (readonly number[])[], length: number): HostTensor<"i32"> => {
    const data = new Int32Array(rows.length * length).fill(PAD);
    for (const [row, ids] of rows.entries()) data.set(ids, row * length);
    return tensor(data, [rows.length, length]);
  };
  const sources = pairs.map((pair) => source.encode(pair.source));
  const targets = pairs.map((pair) => target.encode(pair.target));
  const seen = targets.map((ids) => [BEGIN, ...ids]);
  const said = targets.map((ids) => [...ids, END]);
  const length = longest.target + 1;
  return { source: pad(sources, longest.source), seen: pad(seen, length), said: pad(said, length) };
}
