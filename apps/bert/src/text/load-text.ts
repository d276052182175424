import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { UsageError } from "@mp/cli";
import { defaultCorpora, type NamedCorpus } from "@mp/cli/corpus";
import { type CorpusParts, END_OF_SENTENCE, readText, type TextCorpus, UNKNOWN_WORD } from "@mp/data";
import { trainTokenizer, type WordPieces } from "./tokenizer.js";

/** The word pieces of one source of text, without marks between sentences. */
export interface Source extends CorpusParts {
  readonly name: string;
}

/** A text as the model reads it, and facts about its source for the result. */
export interface Text {
  readonly sources: readonly Source[];
  readonly pieces: readonly string[];
  readonly summary: Readonly<Record<string, unknown>>;
}

/**
 * Reads sources of text and builds word pieces from their training part. The files in `directory` are one source, or
 * one for each folder in it; without it, each package among the apps' dependencies is a source of prose.
 * @throws MP_IO, MP_PARSE; UsageError for a vocabulary that holds no word
 */
export async function loadText(directory: string | undefined, vocabularySize: number): Promise<Text> {
  const corpora = directory === undefined ? await defaultCorpora() : await readFolders(directory);
  const wordPieces = trainTokenizer(countWords(corpora), vocabularySize);
  const sources = await Promise.all(corpora.map(({ name, corpus }) => encode(name, corpus, wordPieces)));
  return {
    sources,
    pieces: wordPieces.pieces,
    summary: {
      source: directory ?? "documentation of npm packages",
      sha256: corpora.map(({ corpus }) => corpus.sha256),
      wordPieces: wordPieces.pieces.length,
      sources: sources.map(({ name, train, valid, test }) => ({
        name,
        pieces: train.length + valid.length + test.length,
      })),
    },
  };
}

async function readFolders(directory: string): Promise<readonly NamedCorpus[]> {
  const entries = await readdir(directory, { withFileTypes: true });
  const folders = entries
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name)
    .sort();
  const hasText = entries.some((entry) => entry.isFile() && /\.(txt|md)$/i.test(entry.name));
  if (hasText || folders.length < 2) return [{ name: directory, corpus: await readText(directory) }];
  return Promise.all(folders.map(async (name) => ({ name, corpus: await readText(join(directory, name)) })));
}

function countWords(corpora: readonly NamedCorpus[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const { corpus } of corpora) {
    const own = new Uint32Array(corpus.words.length);
    for (const token of corpus.train) own[token] = (own[token] ?? 0) + 1;
    corpus.words.forEach((word, token) => {
      const count = own[token] ?? 0;
      if (count > 0 && !isMark(word)) counts.set(word, (counts.get(word) ?? 0) + count);
    });
  }
  if (counts.size === 0) throw new UsageError("--data: holds no word to train on");
  return counts;
}

const isMark = (word: string): boolean => word === END_OF_SENTENCE || word === UNKNOWN_WORD;

async function encode(name: string, corpus: TextCorpus, wordPieces: WordPieces): Promise<Source> {
  const ids = await wordPieces.encode(corpus.words.map((word) => (word === END_OF_SENTENCE ? "" : word)));
  const encodePart = (part: Int32Array): Int32Array => {
    const pieces: number[] = [];
    for (const token of part) for (const id of ids[token] ?? []) pieces.push(id);
    return Int32Array.from(pieces);
  };
  return {
    name,
    train: encodePart(corpus.train),
    valid: encodePart(corpus.valid),
    test: encodePart(corpus.test),
  };
}
