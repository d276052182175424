import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const page = readFileSync(fileURLToPath(new URL("../../../docs/serving.md", import.meta.url)), "utf8");

/** The block of docs/serving.md in that language. */
export function blockOf(language: string): string {
  const [, block] = new RegExp(`\`\`\`${language}\n([^]*?)\`\`\``).exec(page) ?? [];
  if (block === undefined) throw new Error(`no block of ${language}`);
  return block;
}
