import type { DType, HostTensor, Shape } from "@mp/core";
import { FAMILIES, isComputeFloat, type Op, type OpAttributes, type OpOf, rowsOf } from "@mp/core/graph";
import { generated } from "../../host-data.js";
import type { RandomSource } from "../../random-source.js";
import type { GeneratedRow, GeneratedRows } from "../generated-row.js";
import { sample } from "../op-sample.js";
import { drawn, labelled } from "../tails/tail-data.js";
import { cube } from "./side-data.js";

/** Every shape of that rank or less whose axes are 1 or the side. */
function broadcastShapes(side: number, rank: number): readonly Shape[] {
  return Array.from({ length: rank + 1 }, (_, axes) =>
    Array.from({ length: 2 ** axes }, (_each, bits) =>
      cube(1, axes).map((one, at) => ((bits >> at) % 2 === 1 ? side : one)),
    ),
  ).flat();
}

/** Every pair of two such shapes of which at least one has that rank. */
function pairsOf(side: number, rank: number): readonly (readonly [Shape, Shape])[] {
  const shapes = broadcastShapes(side, rank);
  return shapes.flatMap((a) =>
    shapes
      .filter((b) => Math.max(a.length, b.length) === rank && [...a, ...b].includes(side))
      .map((b) => [a, b] as const),
  );
}

/** All pairs of up to two axes. Of three and four a whole operand with every other, on either side. */
const PAIRS: readonly (readonly [Shape, Shape])[] = [
  ...pairsOf(3, 2),
  ...broadcastShapes(4, 3).flatMap((shape): (readonly [Shape, Shape])[] => [
    [cube(4, 3), shape],
    [shape, cube(4, 3)],
  ]),
  ...broadcastShapes(2, 4).map((shape, at): readonly [Shape, Shape] =>
    at % 2 === 0 ? [cube(2, 4), shape] : [shape, cube(2, 4)],
  ),
];

type Draw = (random: RandomSource, dtype: DType, shape: Shape, side: number) => HostTensor;

const numbers: Draw = (random, dtype, shape) =>
  isComputeFloat(dtype)
    ? drawn(random, dtype, shape, [-8, 8])
    : generated(dtype, shape, () => random.integer(1, 9));
const few: Draw = (random, dtype, shape) =>
  generated(dtype, shape, () => (dtype === "bool" ? random.integer(0, 1) : random.integer(1, 3)));

const row =
  <K extends Op>(
    draw: Draw,
    attributesOf: (dtype: DType) => OpAttributes[K] = () => ({}) as OpAttributes[K],
  ): GeneratedRow<K> =>
  (dtype, random) =>
    PAIRS.map((pair) =>
      sample<K>(attributesOf(dtype), ...pair.map((shape, side) => draw(random, dtype, shape, side))),
    );

export const binarySides: GeneratedRows<OpOf<"binary">> = {
  ...rowsOf(FAMILIES.binary, () => row<never>(few)),
  Add: row(numbers),
  Sub: row(numbers),
  Mul: row(numbers),
  Div: row(numbers),
  Pow: row((random, dtype, shape, side) => drawn(random, dtype, shape, side === 0 ? [0.25, 3] : [-3, 3])),
  Mod: row(numbers, (dtype) => ({ fmod: isComputeFloat(dtype) })),
  Min: row(numbers),
  Max: row(numbers),
  Where: (dtype, random) => {
    const shapes = broadcastShapes(3, 2);
    const triples = shapes.flatMap((condition) =>
      shapes.flatMap((x) => shapes.map((y) => [condition, x, y] as const)),
    );
    return triples
      .filter((of, at) => at % 5 === 0 && of.flat().includes(3))
      .map(([condition, x, y]) =>
        sample<"Where">(
          {},
          labelled(random, "bool", condition),
          labelled(random, dtype, x),
          labelled(random, dtype, y),
        ),
      );
  },
};
