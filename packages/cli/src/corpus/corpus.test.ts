import { buildVocabulary, encodeCorpus, type TextCorpus, UNKNOWN_WORD } from "@mp/data";
import { beforeAll, describe, expect, it } from "vitest";
import { CORPUS_PACKAGES, defaultCorpus } from "./corpus.js";

describe("the default corpus", () => {
  let corpus: TextCorpus;
  beforeAll(async () => {
    corpus = await defaultCorpus();
  });

  it("is the text that the lockfile pins", () => {
    expect(corpus.sha256).toBe("fa3f38637564c56de2808251cbc69f8bb6cd26c15fa41ee9fdd02fc5795cea34");
    expect(corpus.sources.map(({ name }) => name)).toEqual(CORPUS_PACKAGES.map(({ name }) => name));
  });

  it("has at least 200 000 words, not counting punctuation, numbers and code", () => {
    const isWord = corpus.words.map((word) => /^\p{L}/u.test(word));
    const tokens = [...corpus.train, ...corpus.valid, ...corpus.test];
    expect(tokens.filter((token) => isWord[token]).length).toBeGreaterThan(200_000);
  });

  it("is split 90/5/5", () => {
    expect(corpus.train.length / corpus.tokens).toBeCloseTo(0.9, 2);
    expect(corpus.valid.length / corpus.tokens).toBeCloseTo(0.05, 2);
    expect(corpus.test.length / corpus.tokens).toBeCloseTo(0.05, 2);
  });

  it("is prose: its commonest word is the commonest of English, and code is rare", () => {
    const vocabulary = buildVocabulary(corpus, 10_000);
    expect(vocabulary.words.slice(0, 3)).toEqual([UNKNOWN_WORD, "<eos>", "the"]);
    const code = corpus.words.indexOf("<code>");
    expect(corpus.train.filter((token) => token === code).length / corpus.train.length).toBeLessThan(0.04);
  });

  it("teaches words that held-out text uses", () => {
    const vocabulary = buildVocabulary(corpus, 4_000);
    const { valid } = encodeCorpus(corpus, vocabulary);
    expect(valid.filter((word) => word === vocabulary.unknown).length / valid.length).toBeLessThan(0.05);
  });
});
