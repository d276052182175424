import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** The block in that language of a page of docs. */
export function blockOf(language: string, name = "serving.md"): string {
  const page = readFileSync(fileURLToPath(new URL(`../../../docs/${name}`, import.meta.url)), "utf8");
  const [, block] = new RegExp(`\`\`\`${language}\n([^]*?)\`\`\``).exec(page) ?? [];
  if (block === undefined) throw new Error(`no block of ${language}`);
  return block;
}
