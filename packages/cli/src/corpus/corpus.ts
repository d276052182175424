import { type PackageText, type TextCorpus, textCorpus } from "@mp/data";

/**
 * Packages with much plain English text, under MIT or Apache-2.0. They are dependencies of this package only for their
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

const readCorpus = (packages: readonly PackageText[]): Promise<TextCorpus> =>
  textCorpus({ from: import.meta.url, packages });

/** The apps' corpus without `--data`: about 340 000 tokens of technical prose, the same in every checkout. */
export function defaultCorpus(): Promise<TextCorpus> {
  return readCorpus(CORPUS_PACKAGES);
}

/** A text with a name, such as a class that a classifier is to recognize. */
export interface NamedCorpus {
  readonly name: string;
  readonly corpus: TextCorpus;
}

/** The same prose, the text of each package for itself and split 90/5/5 by itself. */
export function defaultCorpora(): Promise<readonly NamedCorpus[]> {
  return Promise.all(
    CORPUS_PACKAGES.map(async (one) => ({ name: one.name, corpus: await readCorpus([one]) })),
  );
}
