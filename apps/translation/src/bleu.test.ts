import { expect, it } from "vitest";
import { bleu } from "./bleu.js";

const words = (text: string) => text.split(" ");
const pair = (translation: string, reference: string) => ({
  translation: words(translation),
  reference: words(reference),
});

it("is 100 for the reference itself and 0 without a run of four words in common", () => {
  expect(bleu([pair("a b c d e", "a b c d e")])).toBeCloseTo(100, 10);
  expect(bleu([pair("a b c x e", "a b c d e")])).toBe(0);
});

it("is the geometric mean of the precisions with a brevity penalty, over the corpus", () => {
  const [p1, p2, p3, p4] = [10 / 11, 8 / 9, 6 / 7, 4 / 5];
  const want = 100 * Math.exp(1 - 13 / 11) * (p1 * p2 * p3 * p4) ** 0.25;
  expect(bleu([pair("a b c d e f x", "a b c d e f g h"), pair("g h i j", "g h i j k")])).toBeCloseTo(
    want,
    10,
  );
});

it("counts a repeated word as often as the reference has it, and no penalty for what is too long", () => {
  const [p1, p2, p3, p4] = [4 / 6, 3 / 5, 2 / 4, 1 / 3];
  expect(bleu([pair("a b c d d d", "a b c d")])).toBeCloseTo(100 * (p1 * p2 * p3 * p4) ** 0.25, 10);
});
