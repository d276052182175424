import { describe, expect, it } from "vitest";
import { finishCorpus, type TextCorpus, TokenTable } from "./text-corpus.js";
import { buildVocabulary, encodeCorpus } from "./vocabulary.js";

function corpusOf(train: string, valid = "", test = ""): TextCorpus {
  const table = new TokenTable();
  const part = (text: string): Int32Array =>
    Int32Array.from(text.split(" ").filter(Boolean), (word) => table.intern(word));
  return finishCorpus("test", table, { train: part(train), valid: part(valid), test: part(test) }, []);
}

describe("buildVocabulary", () => {
  it("ranks by frequency in the training part, ties in code-unit order", () => {
    const { words } = buildVocabulary(corpusOf("b b c a a z z z <eos>", "c c c c c c new"), 10);
    expect(words).toEqual(["<unk>", "<eos>", "z", "a", "b", "c"]);
  });

  it("does not depend on the order of the text", () => {
    expect(buildVocabulary(corpusOf("x é Z <eos> é y Z x"), 5).words).toEqual(
      buildVocabulary(corpusOf("y Z x é <eos> Z é x"), 5).words,
    );
  });

  it("holds the asked number of words, <unk> and <eos> counted, and fewer where the text has fewer", () => {
    const corpus = corpusOf("a b c d <unk> <eos> e e");
    expect(buildVocabulary(corpus, 4).words).toEqual(["<unk>", "<eos>", "e", "a"]);
    expect(buildVocabulary(corpus, 100).size).toBe(7);
  });

  it("refuses a size without room for a word", () => {
    for (const size of [2, 0, -1, 2.5, Number.NaN]) {
      expect(() => buildVocabulary(corpusOf("a"), size)).toThrow(new RegExp(`size ${size} is too small`));
    }
  });
});

it("encodeCorpus maps words outside the vocabulary to <unk>", () => {
  const corpus = corpusOf("the the cat <eos> the dog <eos>", "the fox <eos>");
  const vocabulary = buildVocabulary(corpus, 4);
  const { train, valid } = encodeCorpus(corpus, vocabulary);
  expect([...train]).toEqual([2, 2, 3, 1, 2, 0, 1]);
  expect([...valid]).toEqual([2, 0, 1]);
  expect(vocabulary.indexOf("constructor")).toBe(vocabulary.unknown);
});
