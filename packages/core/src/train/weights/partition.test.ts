import { expect, it } from "vitest";
import { type Leaf, type Partition, partition } from "./partition.js";

const leaves: readonly Leaf[] = [
  { path: "table", shape: [100, 8] },
  { path: "bias", shape: [7] },
  { path: "none", shape: [0, 3] },
  { path: "scale", shape: [] },
  { path: "kernel", shape: [3, 3, 20] },
];
const elements = ({ shape }: Leaf): number => shape.reduce((product, size) => product * size, 1);
const TOTAL = leaves.reduce((sum, leaf) => sum + elements(leaf), 0);
const counts = (divided: Partition): readonly number[] =>
  divided.map((parts) => [...parts.values()].reduce((sum, { from, to }) => sum + to - from, 0));

/** The parts of each leaf in rank order. */
const covered = (divided: Partition) =>
  leaves.map(({ path }) => divided.flatMap((parts) => parts.get(path) ?? []));

it.each([1, 2, 3, 5, 64])("gives %i ranks every element once, as many to each", (size) => {
  const divided = partition(leaves, size, "element");
  expect(divided).toHaveLength(size);
  for (const [at, parts] of covered(divided).entries()) {
    const ends = parts.map(({ to }) => to);
    expect(parts.map(({ from }) => from)).toEqual(parts.length === 0 ? [] : [0, ...ends.slice(0, -1)]);
    expect(ends.at(-1) ?? 0).toBe(elements(leaves[at] as Leaf));
  }
  const own = counts(divided);
  expect(Math.max(...own) - Math.min(...own)).toBeLessThanOrEqual(1);
});

it.each([1, 2, 3, 8])("gives %i ranks whole leaves, the largest first to the one that has least", (size) => {
  const divided = partition(leaves, size, "leaf");
  for (const [at, parts] of covered(divided).entries()) {
    const whole = elements(leaves[at] as Leaf);
    expect(parts).toEqual(whole === 0 ? [] : [{ from: 0, to: whole }]);
  }
  expect(counts(divided).reduce((sum, count) => sum + count, 0)).toBe(TOTAL);
  expect(counts(divided).slice(0, 2)).toEqual(size === 1 ? [TOTAL] : [800, size === 2 ? 188 : 180]);
});
