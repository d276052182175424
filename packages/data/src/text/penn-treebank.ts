import { join } from "node:path";
import { path as checkPath } from "../check-arguments.js";
import { invalid } from "../errors.js";
import { statIfThere } from "../regular-file.js";
import { readTextFile } from "../text-file.js";
import { type CorpusSource, finishCorpus, type TextCorpus, TokenTable } from "./text-corpus.js";
import { END_OF_SENTENCE } from "./tokenize.js";

/** Folders in Mikolov's tarball that may hold the files, relative to the place where the tarball was unpacked. */
const PLACES = ["", "data", "simple-examples/data"];

/** Finds the folder with `ptb.train.txt`: `directory`, or `data` or `simple-examples/data` below it. */
export async function findPennTreebank(directory: string): Promise<string | undefined> {
  for (const place of PLACES) {
    const folder = join(directory, place);
    if ((await statIfThere(join(folder, "ptb.train.txt")))?.isFile()) return folder;
  }
  return undefined;
}

/**
 * Reads `ptb.train.txt`, `ptb.valid.txt` and `ptb.test.txt`: words separated by spaces, one sentence per line. Adds
 * `<eos>` after each sentence.
 * @throws MP_IO for a missing file, MP_PARSE for one not in UTF-8, MP_INVALID_ARGUMENT for one without a word
 */
export async function pennTreebank(directory: string): Promise<TextCorpus> {
  checkPath("pennTreebank: directory", directory);
  const folder = (await findPennTreebank(directory)) ?? directory;
  const table = new TokenTable();
  const sources: CorpusSource[] = [];
  table.intern(END_OF_SENTENCE);
  const read = async (name: string): Promise<readonly number[]> => {
    const path = join(folder, name);
    const lines = (await readTextFile(path)).split(/\r\n?|\n/);
    const sentences = lines
      .map((line) => line.split(/\s+/).filter((word) => word !== ""))
      .filter(({ length }) => length > 0);
    if (sentences.length === 0) throw invalid(`${path}: holds no word`, { path });
    sources.push({ name, words: sentences.reduce((sum, { length }) => sum + length, 0) });
    return sentences.flatMap((words) => [...words, END_OF_SENTENCE].map((word) => table.intern(word)));
  };
  const parts = {
    train: await read("ptb.train.txt"),
    valid: await read("ptb.valid.txt"),
    test: await read("ptb.test.txt"),
  };
  return finishCorpus(folder, table, parts, sources);
}
