import { type PackageText, type TextCorpus, textCorpus } from "@mp/data";

/**
 * Packages with much plain English text, under MIT or Apache-2.0. They are dependencies of this app only for their
 * documentation; none of their code is run.
 */
export const CORPUS_PACKAGES: readonly PackageText[] = [
  { name: "@types/node" },
  { name: "@types/vscode" },
  { name: "ai", directory: "docs" },
  { name: "fastify", directory: "docs" },
  { name: "undici", directory: "docs" },
  { name: "pino", directory: "docs" },
];

/** What the app reads without `--data`: about 340 000 tokens of technical prose, the same in every checkout. */
export function defaultCorpus(): Promise<TextCorpus> {
  return textCorpus({ from: import.meta.url, packages: CORPUS_PACKAGES });
}
