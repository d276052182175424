/**
 * The words of both languages. The source is plain English. The target is made up: stems are spelled from the index of a
 * word in these lists. A noun has one of two genders, which only the target shows.
 */

const NOUNS = [
  ...["cat", "dog", "bird", "horse", "farmer", "teacher", "doctor", "child", "sailor", "king"],
  ...["house", "tree", "river", "stone", "boat", "book", "lamp", "table", "garden", "window"],
  ...["letter", "wheel", "bridge", "tower", "shadow", "basket", "mirror", "hammer", "clock", "coat"],
] as const;
const ADJECTIVES = [
  ...[
    "red",
    "old",
    "small",
    "quiet",
    "clever",
    "heavy",
    "bright",
    "cold",
    "strange",
    "green",
    "tired",
    "famous",
  ],
  ...["broken", "gentle", "narrow", "golden"],
] as const;
/** Present, present in the third person singular, past. */
const VERBS = [
  ["see", "sees", "saw"],
  ["follow", "follows", "followed"],
  ["paint", "paints", "painted"],
  ["carry", "carries", "carried"],
  ["find", "finds", "found"],
  ["break", "breaks", "broke"],
  ["know", "knows", "knew"],
  ["sell", "sells", "sold"],
  ["watch", "watches", "watched"],
  ["love", "loves", "loved"],
  ["hide", "hides", "hid"],
  ["bring", "brings", "brought"],
] as const;
const PREPOSITIONS = ["near", "behind", "under", "above"] as const;
const ADVERBS = ["quickly", "often", "gladly", "slowly", "today", "never"] as const;
const PLURALS: Readonly<Record<string, string>> = { child: "children" };

const ONSETS = ["p", "t", "k", "b", "d", "g", "m", "n", "s", "l", "r", "v", "z"] as const;
const VOWELS = ["a", "e", "i", "o", "u"] as const;

/** A stem of two syllables, different for every number below 4225. */
function stem(number: number): string {
  const syllable = (n: number): string =>
    `${ONSETS[n % ONSETS.length]}${VOWELS[Math.floor(n / ONSETS.length) % VOWELS.length]}`;
  return syllable(7 * number) + syllable(Math.floor(number / 5) + 3 * number);
}

export type Gender = "o" | "a";
export type Count = "singular" | "plural";

export interface Noun {
  readonly singular: string;
  readonly plural: string;
  readonly stem: string;
  readonly gender: Gender;
}
export interface Verb {
  readonly base: string;
  readonly present: string;
  readonly past: string;
  readonly stem: string;
}
/** A word without forms in the source. */
export interface Plain {
  readonly word: string;
  readonly stem: string;
}

export const nouns: readonly Noun[] = NOUNS.map((singular, index) => ({
  singular,
  plural: PLURALS[singular] ?? `${singular}s`,
  stem: stem(index),
  gender: index % 3 === 0 ? "a" : "o",
}));
export const verbs: readonly Verb[] = VERBS.map(([base, present, past], index) => ({
  base,
  present,
  past,
  stem: stem(100 + index),
}));
const plain = (words: readonly string[], from: number): readonly Plain[] =>
  words.map((word, index) => ({ word, stem: stem(from + index) }));
export const adjectives: readonly Plain[] = plain(ADJECTIVES, 200);
export const prepositions: readonly Plain[] = plain(PREPOSITIONS, 300);
export const adverbs: readonly Plain[] = plain(ADVERBS, 400);
