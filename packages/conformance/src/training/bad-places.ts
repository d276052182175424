/** Positions at which a check must find an element: at the ends, and on both sides of engines' block sizes. */
import { elementCount, type Shape } from "@mp/graph";
import type { RandomSource } from "../random-source.js";

/** Positions along one axis, next to powers of two and of ten; the last and the middle one are added. */
const EDGES = [0, 62, 63, 64, 255, 256, 999, 1000, 1023, 1024, 4095, 4096, 65_535, 65_536];

function edgePlaces(size: number): readonly number[] {
  const places = [...EDGES, Math.floor(size / 2), size - 2, size - 1];
  return [...new Set(places.filter((place) => place >= 0 && place < size))].sort((a, b) => a - b);
}

/**
 * Positions at every edge of the rows and columns of a tensor seen as [first axis, the rest], and a few random ones.
 */
export function badPlaces(shape: Shape, random: RandomSource, drawn = 3): readonly number[] {
  const [rows = 1, ...rest] = shape;
  const columns = elementCount(rest, "test data");
  const at = (row: number, column: number): number => row * columns + column;
  const places = [
    ...edgePlaces(rows).map((row, index) => at(row, (index * 7) % columns)),
    ...edgePlaces(columns).map((column, index) => at((index * 5) % rows, column)),
    at(rows - 1, columns - 1),
    ...Array.from({ length: drawn }, () => random.integer(0, rows * columns - 1)),
  ];
  return [...new Set(places)];
}

/** A position in words, as row and column. */
export function placeName(shape: Shape, place: number): string {
  const [, ...rest] = shape;
  const columns = elementCount(rest, "test data");
  return shape.length < 2 ? `${place}` : `row ${Math.floor(place / columns)}, column ${place % columns}`;
}
