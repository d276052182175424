/** Indices along each axis, counted from either end; tuples of each length, behind each number of shared axes. */
import type { HostTensor, Shape } from "@mp/core";
import { elementCount, type OpAttributes, type OpOf, type ScatterReduction } from "@mp/core/graph";
import { hostData } from "../../host-data.js";
import type { RandomSource } from "../../random-source.js";
import { type OpRows, type OpSample, smallIntegers } from "../op-sample.js";
import { drawIndices, drawPermutation, times } from "../rare-row.js";
import { combines } from "../scatter-samples.js";
import { alongEach, resized, SHAPES, scattered } from "./axis-row.js";

const REDUCTIONS: readonly ScatterReduction[] = ["add", "mul", "max", "min"];

/** Indices of which no two along the axis are equal, where the order of updates would matter. */
function distinctIndices(random: RandomSource, shape: Shape, axis: number, size: number): HostTensor {
  const inner = elementCount(shape.slice(axis + 1), "test data");
  const count = shape[axis] ?? 1;
  const lines = new Map<number, readonly number[]>();
  return hostData(
    "i32",
    times(elementCount(shape, "test data"), (at) => {
      const line = Math.floor(at / (inner * count)) * inner + (at % inner);
      const order = lines.get(line) ?? drawPermutation(random, size);
      lines.set(line, order);
      return order[Math.floor(at / inner) % count] ?? 0;
    }),
    shape,
  );
}

/** Tuples of indices into `sizes`, each counted from either end. */
function tuples(random: RandomSource, outer: Shape, sizes: Shape): HostTensor {
  const values = times(elementCount(outer, "test data"), () =>
    sizes.map((size) => random.integer(-size, size - 1)),
  ).flat();
  return hostData("i32", values, [...outer, sizes.length]);
}

/** One or two tuples that differ, counted from either end. */
function twoTuples(random: RandomSource, sizes: Shape): HostTensor {
  const places = drawPermutation(random, elementCount(sizes, "test data")).slice(0, 2);
  const values = places.flatMap((place) => {
    let rest = place < 0 ? place + elementCount(sizes, "test data") : place;
    return sizes
      .toReversed()
      .map((size) => {
        const index = rest % size;
        rest = Math.floor(rest / size);
        return random.next() < 0.5 ? index - size : index;
      })
      .toReversed();
  });
  return hostData("i32", values, [places.length, sizes.length]);
}

export const indexingAxes: OpRows<OpOf<"indexing">> = {
  Gather: {
    samples: (dtype, random) => ({
      "every-axis": alongEach((shape, axis) =>
        [[], [3], [1], [2, 2], [2, 1, 3]].map((indices) => ({
          attributes: { axis },
          inputs: [scattered(random, dtype, shape), drawIndices(random, indices, shape[axis] ?? 1)],
        })),
      ),
    }),
  },
  // Along the axis there may be more indices than elements; along each other axis, fewer.
  GatherElements: {
    samples: (dtype, random) => ({
      "every-axis": alongEach((shape, axis) => {
        const size = shape[axis] ?? 1;
        const more = resized(shape, axis, size + 2);
        const fewer = shape.flatMap((_, other) => (other === axis ? [] : [resized(more, other, 1)]));
        return [shape, more, ...fewer, resized(shape, axis, 1)].map((indices) => ({
          attributes: { axis },
          inputs: [scattered(random, dtype, shape), drawIndices(random, indices, size)],
        }));
      }),
    }),
  },
  GatherND: {
    samples: (dtype, random) => ({
      "every-depth": SHAPES.flatMap((shape) =>
        shape.flatMap((_, batchDims) =>
          shape.slice(batchDims).flatMap((__, less) =>
            [[], [3], [2, 2]]
              // The last axis holds the tuples, and is not shared.
              .map((outer): OpSample<"GatherND"> => {
                const shared = shape.slice(0, batchDims);
                const sizes = shape.slice(batchDims, batchDims + less + 1);
                return {
                  attributes: { batchDims },
                  inputs: [scattered(random, dtype, shape), tuples(random, [...shared, ...outer], sizes)],
                };
              }),
          ),
        ),
      ),
    }),
  },
  ScatterElements: {
    samples: (dtype, random) => ({
      "every-axis": alongEach((shape, axis) => {
        const size = shape[axis] ?? 1;
        const fewer = shape.flatMap((_, other) => [resized(shape, other, 1)]);
        return [shape, ...fewer].map((indices) => ({
          attributes: { axis, reduction: "none" as const },
          inputs: [
            scattered(random, dtype, shape),
            distinctIndices(random, indices, axis, size),
            scattered(random, dtype, indices),
          ],
        }));
      }),
      ...(combines(dtype)
        ? {
            "reductions-along-every-axis": alongEach((shape, axis) =>
              REDUCTIONS.flatMap((reduction) =>
                // Three updates of one element: their products are exact.
                [resized(shape, axis, 3), ...shape.map((_, other) => resized(shape, other, 1))].map(
                  (indices) => ({
                    attributes: { axis, reduction },
                    inputs: [
                      smallIntegers(random, dtype, shape),
                      drawIndices(random, indices, shape[axis] ?? 1),
                      smallIntegers(random, dtype, indices),
                    ],
                    exact: true,
                  }),
                ),
              ),
            ),
          }
        : {}),
    }),
  },
  ScatterND: {
    samples: (dtype, random) => ({
      "every-depth": SHAPES.flatMap((shape) =>
        shape.map((_, less) => {
          const [sizes, rest] = [shape.slice(0, less + 1), shape.slice(less + 1)];
          const indices = twoTuples(random, sizes);
          return {
            attributes: { reduction: "none" as const },
            inputs: [
              scattered(random, dtype, shape),
              indices,
              scattered(random, dtype, [...indices.shape.slice(0, 1), ...rest]),
            ],
          };
        }),
      ),
      ...(combines(dtype)
        ? {
            "reductions-at-every-depth": SHAPES.flatMap((shape) =>
              shape.flatMap((_, less) =>
                REDUCTIONS.flatMap((reduction) =>
                  [[], [3], [2, 2]].map((outer): OpSample<"ScatterND"> => {
                    const [sizes, rest] = [shape.slice(0, less + 1), shape.slice(less + 1)];
                    return {
                      attributes: { reduction },
                      inputs: [
                        smallIntegers(random, dtype, shape),
                        tuples(random, outer, sizes),
                        smallIntegers(random, dtype, [...outer, ...rest]),
                      ],
                      exact: true,
                    };
                  }),
                ),
              ),
            ),
          }
        : {}),
    }),
  },
  OneHot: {
    samples: (_, random) => {
      const into = (dtype: OpAttributes["OneHot"]["dtype"]) =>
        [[], ...SHAPES.slice(0, 4)].flatMap((shape: Shape) =>
          [...shape, 1].map((__, axis) => ({
            attributes: { axis, depth: 4, dtype },
            inputs: [drawIndices(random, shape, 6)],
          })),
        );
      return {
        "every-axis-f32": into("f32"),
        "every-axis-f16": into("f16"),
        "every-axis-bf16": into("bf16"),
        "every-axis-i32": into("i32"),
      };
    },
  },
};
