import { join } from "node:path";
import { path as checkPath } from "../check-arguments.js";
import { ioError } from "../errors.js";
import { listFiles } from "../list-files.js";
import { readTextFile } from "../text-file.js";
import { markdownToProse, readMarkdown } from "./markdown-prose.js";
import { findPennTreebank, pennTreebank } from "./penn-treebank.js";
import { RunningText } from "./running-text.js";
import type { TextCorpus } from "./text-corpus.js";
import { Tokenizer, tokenize } from "./tokenize.js";

/**
 * Reads a corpus from a folder: its Penn Treebank files if there are any, otherwise every `.txt` and `.md` file below
 * it, tokenized and split 90/5/5. Only the prose of Markdown is read.
 * @throws MP_IO for a missing folder or one without such files
 * @throws MP_PARSE for a file that is not UTF-8, MP_INVALID_ARGUMENT if the files contain no word
 */
export async function readText(directory: string): Promise<TextCorpus> {
  checkPath("readText: directory", directory);
  const treebank = await findPennTreebank(directory);
  return treebank === undefined ? textFolder(directory) : pennTreebank(treebank);
}

async function textFolder(directory: string): Promise<TextCorpus> {
  const files = await listFiles(directory, [".txt", ".md"]);
  if (files.length === 0) {
    throw ioError(
      directory,
      "has neither ptb.train.txt, ptb.valid.txt and ptb.test.txt nor any .txt or .md file",
    );
  }
  const text = new RunningText();
  for (const file of files) {
    const path = join(directory, file);
    if (file.toLowerCase().endsWith(".md")) {
      for (const paragraph of markdownToProse(await readMarkdown(path))) text.add(tokenize(paragraph));
    } else {
      const tokenizer = new Tokenizer();
      // A blank line ends a paragraph; any other end of a line is white space between words.
      for (const line of (await readTextFile(path)).split(/\r\n?|\n/))
        text.add(line.trim() === "" ? tokenizer.end() : tokenizer.push(`\n${line}`));
      text.add(tokenizer.end());
    }
    text.endSource({ name: file });
  }
  return text.finish(directory);
}
