import { join } from "node:path";
import { path as checkPath } from "../check-arguments.js";
import { invalid } from "../errors.js";
import { statIfThere } from "../regular-file.js";
import { readStretches } from "./read-text.js";
import { type CorpusSource, finishCorpus, type TextCorpus, TokenList, TokenTable } from "./text-corpus.js";
import { END_OF_SENTENCE } from "./tokenize.js";

const PARTS = ["train", "valid", "test"] as const;
/** Folders in Mikolov's tarball that may hold the files, relative to where it was unpacked. */
const PLACES = ["", "data", "simple-examples/data"];

/** Finds the folder with `ptb.train.txt`: this one, `data`, or `simple-examples/data` below it. */
export async function findPennTreebank(directory: string): Promise<string | undefined> {
  for (const place of PLACES) {
    const folder = join(directory, place);
    if ((await statIfThere(join(folder, "ptb.train.txt")))?.isFile()) return folder;
  }
  return undefined;
}

/**
 * Reads `ptb.train.txt`, `ptb.valid.txt` and `ptb.test.txt` as they are: words separated by spaces, one sentence per
 * line, ended by `<eos>`.
 * @throws MP_IO naming the file that is missing
 */
export async function pennTreebank(directory: string): Promise<TextCorpus> {
  checkPath("pennTreebank: directory", directory);
  const folder = (await findPennTreebank(directory)) ?? directory;
  const table = new TokenTable();
  const sources: CorpusSource[] = [];
  const parts: Record<(typeof PARTS)[number], Int32Array> = {
    train: new Int32Array(),
    valid: new Int32Array(),
    test: new Int32Array(),
  };
  for (const part of PARTS) {
    const file = `ptb.${part}.txt`;
    const { tokens, words } = await readPart(join(folder, file), table);
    if (words === 0) {
      throw invalid(`${join(folder, file)}: holds no word`, { path: join(folder, file) });
    }
    parts[part] = tokens;
    sources.push({ name: file, words });
  }
  return finishCorpus(folder, table, parts, sources);
}

async function readPart(path: string, table: TokenTable): Promise<{ tokens: Int32Array; words: number }> {
  const tokens = new TokenList();
  const end = table.intern(END_OF_SENTENCE);
  let words = 0;
  let open = false;
  for await (const { text, complete } of readStretches(path, "line")) {
    for (const word of text.split(/\s+/)) {
      if (word === "") continue;
      tokens.push(table.intern(word));
      words++;
      open = true;
    }
    if (complete && open) {
      tokens.push(end);
      open = false;
    }
  }
  return { tokens: tokens.toArray(), words };
}
