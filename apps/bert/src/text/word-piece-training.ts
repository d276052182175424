/**
 * Builds a word-piece vocabulary (Schuster & Nakajima 2012, as BERT uses it): starts from the letters and joins the most
 * frequent pair of neighboring pieces until the vocabulary is full. Pieces that continue a word begin with `##`.
 */

/** Prefix of a piece that continues a word. */
export const CONTINUES = "##";

interface Word {
  pieces: string[];
  readonly count: number;
}

const join = (left: string, right: string): string => left + right.slice(CONTINUES.length);
/** Key of a pair of pieces; no piece has a space. */
const pairKey = (left: string, right: string): string => `${left} ${right}`;

/** Counts of neighboring pieces, and the words in which each pair occurs. */
class Pairs {
  readonly #counts = new Map<string, number>();
  readonly #words = new Map<string, Set<Word>>();

  add(word: Word, sign: 1 | -1): void {
    word.pieces.forEach((left, index) => {
      const right = word.pieces[index + 1];
      if (right === undefined) return;
      const key = pairKey(left, right);
      const count = (this.#counts.get(key) ?? 0) + sign * word.count;
      if (count > 0) this.#counts.set(key, count);
      else this.#counts.delete(key);
      const words = this.#words.get(key) ?? new Set();
      if (sign > 0) this.#words.set(key, words.add(word));
    });
  }

  /** The most frequent pair, the first in code-unit order among equals; undefined if there is none. */
  mostFrequent(): readonly [left: string, right: string] | undefined {
    let best: string | undefined;
    let most = 0;
    for (const [key, count] of this.#counts) {
      if (count < most || (count === most && best !== undefined && key > best)) continue;
      [best, most] = [key, count];
    }
    return best === undefined ? undefined : (best.split(" ") as [string, string]);
  }

  wordsWith(left: string, right: string): readonly Word[] {
    return [...(this.#words.get(pairKey(left, right)) ?? [])];
  }
}

function merge(pieces: readonly string[], left: string, right: string): string[] {
  const merged: string[] = [];
  for (let index = 0; index < pieces.length; index++) {
    const piece = pieces[index] as string;
    if (piece === left && pieces[index + 1] === right) {
      merged.push(join(left, right));
      index++;
    } else merged.push(piece);
  }
  return merged;
}

/**
 * Finds `size` pieces, or fewer if the words are used up. The letters come first, the most frequent ones if there are
 * too many.
 * @param counts how often each word occurs
 */
export function wordPieces(counts: ReadonlyMap<string, number>, size: number): readonly string[] {
  const words = [...counts].map(([text, count]): Word => {
    const pieces = [...text].map((letter, index) => (index === 0 ? letter : CONTINUES + letter));
    return { pieces, count };
  });
  const letters = new Map<string, number>();
  for (const { pieces, count } of words) {
    for (const piece of pieces) letters.set(piece, (letters.get(piece) ?? 0) + count);
  }
  const vocabulary = new Set(
    [...letters]
      .sort(([a, m], [b, n]) => n - m || (a < b ? -1 : 1))
      .slice(0, size)
      .map(([letter]) => letter),
  );
  const pairs = new Pairs();
  for (const word of words) pairs.add(word, 1);
  while (vocabulary.size < size) {
    const pair = pairs.mostFrequent();
    if (pair === undefined) break;
    for (const word of pairs.wordsWith(...pair)) {
      pairs.add(word, -1);
      word.pieces = merge(word.pieces, ...pair);
      pairs.add(word, 1);
    }
    vocabulary.add(join(...pair));
  }
  return [...vocabulary];
}
