/** Indices from the end along each axis, and after axes that both operands share. */
import type { DType, HostTensor, Shape } from "@mp/core";
import { elementCount, type ScatterReduction } from "@mp/core/graph";
import type { RandomSource } from "../../random-source.js";
import { generated, hostData } from "../host-data.js";
import { counted, exact, sample } from "../op-sample.js";
import { drawIndices, drawPermutation, drawShape, type RareRow, type RareRows, times } from "./rare-row.js";

const MOVED: readonly DType[] = ["f32", "f16", "i32", "i64"];
const DATA: Shape = [3, 2, 4, 5];
const AXES = [0, 1, 2, 3];

const whole = (dtype: DType, shape: Shape, offset = 0): HostTensor =>
  generated(dtype, shape, (at) => ((at * 3 + offset) % 5) - 2);

const gather: RareRow<"Gather"> = {
  dtypes: MOVED,
  samples: (dtype, random) => ({
    "from-the-end-along-each-axis": AXES.flatMap((axis) =>
      [[], [3], [2, 2]].map((shape) =>
        sample<"Gather">({ axis }, counted(dtype, DATA), drawIndices(random, shape, DATA[axis] ?? 1)),
      ),
    ),
  }),
};

/** Along each axis but the indexed one there may be fewer indices than data; along that axis there may be more. */
const gatherElements: RareRow<"GatherElements"> = {
  dtypes: MOVED,
  samples: (dtype, random) => ({
    "from-the-end-along-each-axis": AXES.flatMap((axis) =>
      times(2, () => {
        const shape = DATA.map((size, at) => (at === axis ? random.integer(1, 6) : random.integer(1, size)));
        return sample<"GatherElements">(
          { axis },
          counted(dtype, DATA),
          drawIndices(random, shape, DATA[axis] ?? 1),
        );
      }),
    ),
  }),
};

/** Tuples of indices into `sizes`. */
function tuples(random: RandomSource, outer: Shape, sizes: Shape): HostTensor {
  const values = times(elementCount(outer, "test data"), () =>
    sizes.map((size) => random.integer(-size, size - 1)),
  ).flat();
  return hostData("i32", values, [...outer, sizes.length]);
}

const gatherND: RareRow<"GatherND"> = {
  dtypes: MOVED,
  samples: (dtype, random) => ({
    "from-the-end-behind-shared-axes": [0, 1, 2].flatMap((batchDims) =>
      times(4 - batchDims, (less) => {
        const depth = less + 1;
        const outer = [...DATA.slice(0, batchDims), ...drawShape(random, random.integer(0, 1), 2, 3)];
        const indices = tuples(random, outer, DATA.slice(batchDims, batchDims + depth));
        return sample<"GatherND">({ batchDims }, counted(dtype, DATA), indices);
      }),
    ),
  }),
};

const REDUCTIONS: readonly ScatterReduction[] = ["add", "mul", "max", "min"];

/** Every line along the axis contains each index at most once, so that the order of updates does not matter. */
function distinctAlong(random: RandomSource, axis: number): HostTensor {
  const size = DATA[axis] ?? 1;
  const inner = elementCount(DATA.slice(axis + 1), "test data");
  const lines = new Map<string, readonly number[]>();
  const data = times(elementCount(DATA, "test data"), (at) => {
    const [block, place, column] = [
      Math.floor(at / (inner * size)),
      Math.floor(at / inner) % size,
      at % inner,
    ];
    const line = `${block},${column}`;
    const order = lines.get(line) ?? drawPermutation(random, size);
    lines.set(line, order);
    return order[place] ?? 0;
  });
  return hostData("i32", data, DATA);
}

const scatterElements: RareRow<"ScatterElements"> = {
  dtypes: MOVED,
  samples: (dtype, random) => ({
    "from-the-end-along-each-axis": AXES.flatMap((axis) => [
      sample<"ScatterElements">(
        { axis, reduction: "none" },
        counted(dtype, DATA),
        distinctAlong(random, axis),
        counted(dtype, DATA, 5),
      ),
      ...REDUCTIONS.map((reduction) => {
        const shape = DATA.map((size, at) => (at === axis ? 2 : random.integer(1, size)));
        return exact<"ScatterElements">(
          { axis, reduction },
          whole(dtype, DATA),
          drawIndices(random, shape, DATA[axis] ?? 1),
          whole(dtype, shape, 2),
        );
      }),
    ]),
  }),
};

const scatterND: RareRow<"ScatterND"> = {
  dtypes: MOVED,
  samples: (dtype, random) => ({
    "from-the-end-at-each-depth": [1, 2, 3, 4].flatMap((depth) => {
      const rest = DATA.slice(depth);
      return [
        ...REDUCTIONS.map((reduction) => {
          const outer = [2, reduction === "add" ? 3 : 1];
          return exact<"ScatterND">(
            { reduction },
            whole(dtype, DATA),
            tuples(random, outer, DATA.slice(0, depth)),
            whole(dtype, [...outer, ...rest], 2),
          );
        }),
        sample<"ScatterND">(
          { reduction: "none" },
          counted(dtype, DATA),
          tuples(random, [1], DATA.slice(0, depth)),
          counted(dtype, [1, ...rest], 5),
        ),
      ];
    }),
  }),
};

const oneHot: RareRow<"OneHot"> = {
  dtypes: ["i32"],
  samples: (_, random) => ({
    "from-the-end-along-each-axis": [0, 1, 2, 3].map((axis) =>
      sample<"OneHot">({ axis, depth: 5, dtype: "f32" }, drawIndices(random, [2, 3, 2], 5)),
    ),
  }),
};

/** Ranges as ONNX normalizes them: a negative step may end before the first element. */
function drawRange(random: RandomSource, size: number, step: number): readonly [start: number, end: number] {
  if (step > 0) {
    const start = random.integer(0, size - 1);
    return [start, random.integer(start + 1, size)];
  }
  const start = random.integer(0, size - 1);
  return [start, random.integer(-1, start - 1)];
}

const slice: RareRow<"Slice"> = {
  dtypes: ["f32", "f16", "i32", "i64", "bool"],
  samples: (dtype, random) => ({
    "several-negative-steps": times(10, (index) => {
      const shape = drawShape(random, 4, 3, 6);
      const axes = drawPermutation(random, 4)
        .map((axis) => (axis + 4) % 4)
        .slice(0, 2 + (index % 3))
        .sort((a, b) => a - b);
      // The first two always run backwards.
      const steps = axes.map((_, at) => (at < 2 ? -random.integer(1, 3) : random.integer(1, 2)));
      const ranges = axes.map((axis, at) => drawRange(random, shape[axis] ?? 1, steps[at] ?? 1));
      return sample<"Slice">(
        { axes, starts: ranges.map(([start]) => start), ends: ranges.map(([, end]) => end), steps },
        counted(dtype, shape),
      );
    }),
  }),
};

export const rareIndices: RareRows = {
  Gather: gather,
  GatherElements: gatherElements,
  GatherND: gatherND,
  ScatterElements: scatterElements,
  ScatterND: scatterND,
  OneHot: oneHot,
  Slice: slice,
};
