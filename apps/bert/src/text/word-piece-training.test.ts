import { describe, expect, it } from "vitest";
import { trainTokenizer } from "./tokenizer.js";
import { wordPieces } from "./word-piece-training.js";

describe("wordPieces", () => {
  const counts = new Map([
    ["hug", 10],
    ["pug", 5],
    ["pun", 12],
    ["bun", 4],
    ["hugs", 5],
  ]);

  it("joins the most frequent pairs, those of a word's start apart from those within", () => {
    const letters = wordPieces(counts, 7);
    expect(new Set(letters)).toEqual(new Set(["##u", "##n", "##g", "p", "h", "##s", "b"]));
    // ##u ##g occurs 20 times, ##u ##n 16 times; then h ##ug is the most frequent with 15.
    expect(wordPieces(counts, 10).slice(7)).toEqual(["##ug", "##un", "hug"]);
  });

  it("ends where nothing is left to be joined, and keeps the most frequent letters where they are too many", () => {
    expect(wordPieces(new Map([["ab", 1]]), 100)).toEqual(["##b", "a", "ab"]);
    expect(wordPieces(counts, 2)).toEqual(["##u", "##g"]);
  });
});

describe("the tokenizer", () => {
  it("takes the longest pieces, and words of unknown letters as unknown", async () => {
    const { pieces, encode } = trainTokenizer(
      new Map([
        ["hug", 10],
        ["hugs", 5],
      ]),
      100,
    );
    expect(pieces.slice(0, 5)).toEqual(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]);
    const ids = await encode(["hugs", "hugx", "HUGS"]);
    expect(ids.map((word) => word.map((id) => pieces[id]))).toEqual([["hugs"], ["[UNK]"], ["hugs"]]);
  });
});
