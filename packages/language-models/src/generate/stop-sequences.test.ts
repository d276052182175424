import { expect, it } from "vitest";
import { StopSequences } from "./stop-sequences.js";

/** The tokens that come out, and whether a stop ended them. */
function written(tokens: readonly number[], sequences: readonly (readonly number[])[]) {
  const stops = new StopSequences(sequences);
  const out: number[] = [];
  for (const token of tokens) {
    const { free, isStop } = stops.take(token);
    out.push(...free);
    if (isStop) return { out, isStop };
  }
  return { out: [...out, ...stops.rest()], isStop: false };
}

const foundIn = (tokens: readonly number[], sequence: readonly number[]): number => {
  for (let start = 0; start + sequence.length <= tokens.length; start++)
    if (sequence.every((token, at) => tokens[start + at] === token)) return start;
  return Number.POSITIVE_INFINITY;
};

it("gives what stands before the first sequence that is complete, for every short text", () => {
  const sequences = [
    [1, 1, 2],
    [2, 1],
    [0, 0, 0, 1],
  ];
  for (let code = 0; code < 3 ** 7; code++) {
    const tokens = Array.from({ length: 7 }, (_, at) => Math.floor(code / 3 ** at) % 3);
    const ends = sequences.map((sequence) => [foundIn(tokens, sequence), sequence.length] as const);
    const first = Math.min(...ends.map(([start, length]) => start + length));
    // Of those that are complete at the same token, the first in the list.
    const [start] = ends.find(([at, length]) => at + length === first) as readonly [number, number];
    const want =
      first === Number.POSITIVE_INFINITY
        ? { out: tokens, isStop: false }
        : { out: tokens.slice(0, start), isStop: true };
    expect(written(tokens, sequences)).toEqual(want);
  }
});

it("holds back no more than may be a stop", () => {
  const stops = new StopSequences([[5, 6, 7]]);
  expect(stops.take(5).free).toEqual([]);
  expect(stops.take(5).free).toEqual([5]);
  expect(stops.take(6).free).toEqual([]);
  expect(stops.take(9).free).toEqual([5, 6, 9]);
});
