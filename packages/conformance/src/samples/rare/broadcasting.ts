/** Five axes, with operands broadcast against each other. */
import type { Shape } from "@mp/core";
import type { Op, OpAttributes } from "@mp/core/graph";
import type { RandomSource } from "../../random-source.js";
import { generated } from "../host-data.js";
import { counted, exact, sample, smallIntegers } from "../op-sample.js";
import { drawShape, type RareRow, type RareRows, times } from "./rare-row.js";

/** A shape that broadcasts to the whole: some axes are 1, leading ones may be missing. */
function partOf(random: RandomSource, whole: Shape): Shape {
  const rank = random.next() < 0.5 ? whole.length : random.integer(0, whole.length);
  return whole.slice(whole.length - rank).map((size) => (random.next() < 0.4 ? 1 : size));
}

/** Several such shapes that together broadcast to the whole. */
function drawParts(random: RandomSource, count: number): readonly Shape[] {
  const whole = drawShape(random, 5, 2, 3);
  const parts = times(count, () => partOf(random, whole));
  const missing = whole.map((size, axis) =>
    parts.some((part) => part[axis - whole.length + part.length] === size) ? 1 : size,
  );
  // The first part gets every axis that no other part has.
  const [first = []] = parts;
  const widened = missing.map((size, axis) => Math.max(size, first[axis - whole.length + first.length] ?? 1));
  return [widened, ...parts.slice(1)];
}

/** An outer product over five axes, where each operand has every second axis. */
const COMBED: readonly Shape[] = [
  [2, 1, 3, 1, 2],
  [1, 3, 1, 2, 1],
];

function binary<K extends Op>(attributes: OpAttributes[K]): RareRow<K> {
  return {
    dtypes: ["f32", "i32"],
    samples: (dtype, random) => {
      const of = (left: Shape, right: Shape) =>
        sample<K>(
          attributes,
          counted(dtype, left),
          generated(dtype, right, (at) => 1 + (at % 5)),
        );
      const [odd = [], even = []] = COMBED;
      return {
        "five-axes": [
          of(odd, even),
          of(even, odd),
          of(odd, [3, 1, 1, 1]),
          ...times(10, () => {
            const [left = [], right = []] = drawParts(random, 2);
            return random.next() < 0.5 ? of(left, right) : of(right, left);
          }),
        ],
      };
    },
  };
}

const where: RareRow<"Where"> = {
  dtypes: ["f32", "f16", "i32", "bool"],
  samples: (dtype, random) => ({
    "five-axes": times(10, () => {
      const [condition = [], x = [], y = []] = drawParts(random, 3);
      return sample<"Where">({}, counted("bool", condition), counted(dtype, x), counted(dtype, y, 5));
    }),
  }),
};

/** Batches of up to three axes that broadcast against each other, of matrices and vectors. */
const matMul: RareRow<"MatMul"> = {
  dtypes: ["f32", "f16", "bf16"],
  samples: (dtype, random) => {
    const of = (a: Shape, b: Shape) =>
      exact<"MatMul">({}, smallIntegers(random, dtype, a), smallIntegers(random, dtype, b));
    const drawn = times(6, () => {
      const whole = drawShape(random, 3, 2, 3);
      const [m = 1, k = 1, n = 1] = drawShape(random, 3, 1, 5);
      return of([...partOf(random, whole), m, k], [...partOf(random, whole), k, n]);
    });
    return {
      "batches-of-three-axes": [
        of([2, 1, 3, 2, 4], [1, 2, 3, 4, 3]),
        of([2, 3, 2, 3, 4], [4, 2]),
        of([3, 4], [2, 1, 2, 4, 3]),
        of([2, 1, 2, 3, 4], [4]),
        of([4], [2, 1, 2, 4, 3]),
        of([1, 2, 1, 1, 5], [3, 1, 2, 5, 1]),
        ...drawn,
      ],
    };
  },
};

export const rareBroadcasting: RareRows = {
  Add: binary<"Add">({}),
  Sub: binary<"Sub">({}),
  Mul: binary<"Mul">({}),
  Div: binary<"Div">({}),
  Min: binary<"Min">({}),
  Max: binary<"Max">({}),
  Greater: binary<"Greater">({}),
  Equal: binary<"Equal">({}),
  Where: where,
  MatMul: matMul,
};
