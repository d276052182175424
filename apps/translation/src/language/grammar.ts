/**
 * Sentences as meanings, and their words in both languages. In the target language the verb is at the end and the adverb
 * at the front, an adjective follows its noun and a preposition its phrase; articles and adjectives agree with the noun
 * in gender and number, the verb with its subject in number.
 */
import { type RandomStream, randomStream } from "@mp/data";
import {
  adjectives,
  adverbs,
  type Count,
  type Noun,
  nouns,
  type Plain,
  prepositions,
  type Verb,
  verbs,
} from "./lexicon.js";

interface NounPhrase {
  readonly article: "the" | "some";
  readonly adjective: Plain | undefined;
  readonly noun: Noun;
  readonly count: Count;
}

export interface Sentence {
  readonly subject: NounPhrase;
  readonly verb: Verb;
  readonly tense: "present" | "past";
  readonly object: NounPhrase;
  readonly place: { readonly preposition: Plain; readonly of: NounPhrase } | undefined;
  readonly adverb: Plain | undefined;
}

/** A sentence in both languages, in words. */
export interface Pair {
  readonly source: readonly string[];
  readonly target: readonly string[];
}

const optional = <T>(value: T | undefined): readonly T[] => (value === undefined ? [] : [value]);

function sourcePhrase({ article, adjective, noun, count }: NounPhrase): readonly string[] {
  return [article, ...optional(adjective?.word), noun[count]];
}

/** `lo vatoni kelo`: article, noun, adjective, all of one gender and number. */
function targetPhrase({ article, adjective, noun, count }: NounPhrase): readonly string[] {
  const ending = noun.gender + (count === "plural" ? "s" : "");
  const articleStem = article === "the" ? "l" : "un";
  // The noun itself shows only its number, so its gender has to be learned.
  return [
    articleStem + ending,
    noun.stem + (count === "plural" ? "ni" : ""),
    ...optional(adjective && adjective.stem + ending),
  ];
}

function sourceVerb({ subject, verb, tense }: Sentence): string {
  if (tense === "past") return verb.past;
  return subject.count === "singular" ? verb.present : verb.base;
}

const TARGET_VERB = {
  present: { singular: "t", plural: "nt" },
  past: { singular: "vet", plural: "vent" },
} as const;

/** Says a sentence in both languages. */
export function say(sentence: Sentence): Pair {
  const { subject, verb, tense, object, place, adverb } = sentence;
  return {
    source: [
      ...sourcePhrase(subject),
      sourceVerb(sentence),
      ...sourcePhrase(object),
      ...(place ? [place.preposition.word, ...sourcePhrase(place.of)] : []),
      ...optional(adverb?.word),
    ],
    target: [
      ...optional(adverb?.stem),
      ...targetPhrase(subject),
      ...(place === undefined ? [] : [...targetPhrase(place.of), place.preposition.stem]),
      ...targetPhrase(object),
      verb.stem + TARGET_VERB[tense][subject.count],
    ],
  };
}

const pick = <T>(list: readonly T[], stream: RandomStream): T => list[stream.integer(list.length)] as T;

function randomPhrase(stream: RandomStream): NounPhrase {
  return {
    article: stream.integer(2) === 0 ? "the" : "some",
    adjective: stream.uniform() < 0.6 ? pick(adjectives, stream) : undefined,
    noun: pick(nouns, stream),
    count: stream.uniform() < 0.6 ? "singular" : "plural",
  };
}

function randomSentence(stream: RandomStream): Sentence {
  return {
    subject: randomPhrase(stream),
    verb: pick(verbs, stream),
    tense: stream.integer(2) === 0 ? "present" : "past",
    object: randomPhrase(stream),
    place:
      stream.uniform() < 0.4
        ? { preposition: pick(prepositions, stream), of: randomPhrase(stream) }
        : undefined,
    adverb: stream.uniform() < 0.4 ? pick(adverbs, stream) : undefined,
  };
}

const nounPhrases = ({ subject, object, place }: Sentence): readonly NounPhrase[] => [
  subject,
  object,
  ...optional(place?.of),
];

/** Whether a combination of adjective and noun is held out. One combination in five occurs in test sentences alone. */
function isHeldOut({ adjective, noun }: NounPhrase): boolean {
  if (adjective === undefined) return false;
  return (3 * adjectives.indexOf(adjective) + nouns.indexOf(noun)) % 5 === 0;
}

/** Draws sentences, the same on every machine and none of them twice. */
function distinct(count: number, key: number, isWanted: (sentence: Sentence) => boolean): readonly Pair[] {
  const stream = randomStream(key);
  const pairs = new Map<string, Pair>();
  while (pairs.size < count) {
    const sentence = randomSentence(stream);
    if (!isWanted(sentence)) continue;
    const pair = say(sentence);
    pairs.set(pair.source.join(" "), pair);
  }
  return [...pairs.values()];
}

/** Sentences without any held-out combination. */
export const sentencesToLearn = (count: number): readonly Pair[] =>
  distinct(count, 1, (sentence) => !nounPhrases(sentence).some(isHeldOut));

/** Sentences with at least one held-out combination. */
export const unseenSentences = (count: number): readonly Pair[] =>
  distinct(count, 2, (sentence) => nounPhrases(sentence).some(isHeldOut));
