/** The two texts of this repository, prose and programs, as numbers of characters. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { type HostTensor, tensor } from "@mp/core";

/** Characters before the predicted one, which the network sees. */
export const CONTEXT = 16;
/** Number of characters that are distinguished: the printable ones of ASCII and the end of a line. */
export const CHARACTERS = 96;
const FIRST_PRINTABLE = 32;

/** Characters of a text and, for each position, the character after it. */
export type CharacterBatch = {
  /** [batch, CONTEXT] */
  readonly before: HostTensor<"i32">;
  /** [batch] */
  readonly next: HostTensor<"i32">;
};

/** Reads the prose of the pages in `docs` and the programs of `@mp/core`, each file in the order of its path. */
export function readTexts(): { readonly prose: Int32Array; readonly programs: Int32Array } {
  const root = findRoot(import.meta.dirname);
  return {
    prose: encode(readFiles(join(root, "docs"), ".md")),
    programs: encode(readFiles(join(root, "packages", "core", "src"), ".ts")),
  };
}

/** The folder of the repository: bundles of this program lie at different depths in it. */
const findRoot = (folder: string): string =>
  existsSync(join(folder, "pnpm-workspace.yaml")) ? folder : findRoot(dirname(folder));

function readFiles(folder: string, ending: string): string {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(ending))
    .sort()
    .map((name) => readFileSync(join(folder, name), "utf8"))
    .join("");
}

/** Numbers characters: 0 is the end of a line, 1 a space or a character outside ASCII. */
export const encode = (text: string): Int32Array =>
  Int32Array.from(text, (character) => {
    const code = character.charCodeAt(0);
    if (character === "\n") return 0;
    return code >= FIRST_PRINTABLE && code < FIRST_PRINTABLE + CHARACTERS - 1
      ? code - FIRST_PRINTABLE + 1
      : 1;
  });

/** Takes the batch of a number: the same places of the text for the same number, so that all runs see the same batches. */
export function takeBatch(text: Int32Array, batch: number, number: number): CharacterBatch {
  const before = new Int32Array(batch * CONTEXT);
  const next = new Int32Array(batch);
  for (let row = 0; row < batch; row++) {
    // Multiples of the golden ratio are spread evenly, in no order of the text.
    const share = ((number * batch + row) * ((Math.sqrt(5) - 1) / 2)) % 1;
    const start = Math.floor(share * (text.length - CONTEXT));
    before.set(text.subarray(start, start + CONTEXT), row * CONTEXT);
    next[row] = text[start + CONTEXT] ?? 0;
  }
  return { before: tensor(before, [batch, CONTEXT]), next: tensor(next, [batch]) };
}
