import { type PackageText, type TextCorpus, textCorpus } from "@mp/data";

/** Packages with much English text under MIT or Apache-2.0. The corpus uses their documentation, not their code. */
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

/** Reads the corpus for apps without `--data`: about 340 000 tokens of technical prose, the same in every checkout. */
export function defaultCorpus(): Promise<TextCorpus> {
  return readCorpus(CORPUS_PACKAGES);
}

/** A named corpus, such as a class of a classifier. */
export interface NamedCorpus {
  readonly name: string;
  readonly corpus: TextCorpus;
}

/** Reads the prose of `defaultCorpus` as one corpus per package, each split 90/5/5. */
export function defaultCorpora(): Promise<readonly NamedCorpus[]> {
  return Promise.all(
    CORPUS_PACKAGES.map(async (one) => ({ name: one.name, corpus: await readCorpus([one]) })),
  );
}
