import { describe, expect, it } from "vitest";
import { type Pair, say, sentencesToLearn, unseenSentences } from "./grammar.js";
import { adjectives, adverbs, nouns, prepositions, verbs } from "./lexicon.js";

const text = (words: readonly string[]): string => words.join(" ");
const found = <T>(value: T | undefined): T => {
  if (value === undefined) throw new Error("not in the lexicon");
  return value;
};

describe("the languages", () => {
  it("give every word a form of its own", () => {
    const stems = [nouns, verbs, adjectives, adverbs, prepositions].flatMap((list) =>
      list.map(({ stem }) => stem),
    );
    expect(new Set(stems).size).toBe(stems.length);
  });

  it("differ in order, and agree in number, gender and tense", () => {
    const noun = (word: string) => found(nouns.find(({ singular }) => singular === word));
    const adjective = found(adjectives.find(({ word }) => word === "old"));
    const verb = found(verbs.find(({ base }) => base === "see"));
    const adverb = found(adverbs[0]);
    const [cat, dog] = [noun("cat"), noun("dog")];
    const pair = say({
      subject: { article: "the", adjective, noun: cat, count: "plural" },
      verb,
      tense: "present",
      object: { article: "some", adjective, noun: dog, count: "singular" },
      place: undefined,
      adverb,
    });
    expect(text(pair.source)).toBe(`the old cats see some old dog ${adverb.word}`);
    const of = (stem: string, ending: string) => stem + ending;
    expect([cat.gender, dog.gender]).toEqual(["a", "o"]);
    expect(pair.target).toEqual([
      ...[adverb.stem, "las", of(cat.stem, "ni"), of(adjective.stem, "as")],
      ...["uno", dog.stem, of(adjective.stem, "o"), of(verb.stem, "nt")],
    ]);
  });
});

describe("sentences to be judged by", () => {
  const [learned, unseen] = [sentencesToLearn(3000), unseenSentences(200)];
  /** Pairs of an adjective and the noun that follows it. */
  const combinations = (pairs: readonly Pair[]): ReadonlySet<string> => {
    const isAdjective = new Set(adjectives.map(({ word }) => word));
    return new Set(
      pairs.flatMap(({ source }) =>
        source.flatMap((word, index) => {
          const next = nouns.find((noun) => [noun.singular, noun.plural].includes(source[index + 1] ?? ""));
          return isAdjective.has(word) && next !== undefined ? [`${word} ${next.singular}`] : [];
        }),
      ),
    );
  };

  it("each have a combination of words that no sentence to learn from has", () => {
    const known = combinations(learned);
    for (const pair of unseen) expect([...combinations([pair])].some((one) => !known.has(one))).toBe(true);
  });

  it("have no word form that is not learned, and no sentence that is", () => {
    const forms = new Set(learned.flatMap(({ source, target }) => [...source, ...target]));
    expect(
      unseen.flatMap(({ source, target }) => [...source, ...target]).filter((form) => !forms.has(form)),
    ).toEqual([]);
    const sentences = new Set(learned.map(({ source }) => text(source)));
    expect(sentences.size).toBe(3000);
    expect(unseen.filter(({ source }) => sentences.has(text(source)))).toEqual([]);
  });

  it("are the same in every run", () => {
    expect(sentencesToLearn(50)).toEqual(learned.slice(0, 50));
  });
});
