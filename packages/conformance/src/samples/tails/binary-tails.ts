import type { DType, HostTensor, Shape } from "@mp/core";
import { FAMILIES, isComputeFloat, type Op, type OpAttributes, type OpOf, rowsOf } from "@mp/core/graph";
import { generated } from "../../host-data.js";
import type { RandomSource } from "../../random-source.js";
import type { GeneratedRow, GeneratedRows } from "../generated-row.js";
import { type OpSample, sample } from "../op-sample.js";
import { drawn, endsInNan, formAt, labelled, lengthsOf, placed } from "./tail-data.js";

type Pair = readonly [left: Shape, right: Shape];
type Form = (length: number) => Pair;

/** The broadcasts for which engines have loops of their own. */
const FORMS: readonly Form[] = [
  (n) => [[], [n]],
  (n) => [[n], []],
  (n) => [[3, n], [n]],
  (n) => [[n], [3, n]],
  (n) => [[3, n], [3, 1]],
  (n) => [[3, 1], [3, n]],
  (n) => [[n, 1], [1, 3]],
  (n) => [[2, 1], [1, n]],
  (n) => [[2, 3, n], [2, 1, n]],
  (n) => [[2, 1, n], [3, 1]],
]; // biome-ignore format: one form a line

type Draw = (random: RandomSource, dtype: DType, shape: Shape, side: "left" | "right") => HostTensor;

/** In vectors of more than 35 elements the last of one operand is NaN. */
function withNan(operands: readonly HostTensor[], length: number): readonly HostTensor[] {
  return operands.map((operand, side) =>
    endsInNan(operand.dtype, length) && length % 2 === side
      ? placed(operand, Number.NaN, length - 1)
      : operand,
  );
}

function row<K extends Op>(
  draw: Draw,
  attributesOf: (dtype: DType) => OpAttributes[K] = () => ({}) as OpAttributes[K],
  first: DType = "f32",
): GeneratedRow<K> {
  return (dtype, random) => {
    const operands = ([left, right]: Pair) => [
      draw(random, dtype, left, "left"),
      draw(random, dtype, right, "right"),
    ];
    const of = (inputs: readonly HostTensor[]): OpSample<K> => sample<K>(attributesOf(dtype), ...inputs);
    return lengthsOf(dtype, first).flatMap((length) => {
      const others = dtype === first ? [length] : [length, length + 5];
      return [
        of(withNan(operands([[length], [length]]), length)),
        ...others.map((at) => of(operands(formAt(FORMS, at)(length)))),
      ];
    });
  };
}

/** Any numbers; whole ones without 0, by which integers may not be divided. */
const numbers: Draw = (random, dtype, shape) =>
  isComputeFloat(dtype)
    ? drawn(random, dtype, shape, [-8, 8])
    : generated(
        dtype,
        shape,
        () => random.integer(1, 9) * (random.next() < 0.5 || dtype === "u8" || dtype === "u64" ? 1 : -1),
      );

/** Three numbers, so that equal ones are as frequent as others. */
const few: Draw = (random, dtype, shape) =>
  generated(dtype, shape, () => (dtype === "bool" ? random.integer(0, 1) : random.integer(1, 3)));

const logical = <K extends Op>(): GeneratedRow<K> => row<K>(few, undefined, "bool");

const CHOICES: readonly ((length: number) => readonly [condition: Shape, x: Shape, y: Shape])[] = [
  (n) => [[], [n], [n]],
  (n) => [[n], [], []],
  (n) => [[n], [], [n]],
  (n) => [[n], [n], []],
  (n) => [[3, n], [n], [3, n]],
  (n) => [[3, 1], [3, n], [n]],
  (n) => [[1, n], [3, 1], [3, n]],
  (n) => [[n, 1], [3], []],
]; // biome-ignore format: one form a line

export const binaryTails: GeneratedRows<OpOf<"binary">> = {
  ...rowsOf(FAMILIES.binary, () => row<never>(numbers)),
  Pow: row((random, dtype, shape, side) =>
    drawn(random, dtype, shape, side === "left" ? [0.25, 3] : [-3, 3]),
  ),
  Mod: row(numbers, (dtype) => ({ fmod: isComputeFloat(dtype) })),
  Equal: row(few),
  Greater: row(few),
  GreaterOrEqual: row(few),
  Less: row(few),
  LessOrEqual: row(few),
  And: logical(),
  Or: logical(),
  Xor: logical(),
  Where: (dtype, random) =>
    lengthsOf(dtype).flatMap((length) =>
      [[[length], [length], [length]] as const, formAt(CHOICES, length)(length)].map(([condition, x, y]) =>
        sample<"Where">(
          {},
          labelled(random, "bool", condition),
          labelled(random, dtype, x),
          labelled(random, dtype, y),
        ),
      ),
    ),
};
