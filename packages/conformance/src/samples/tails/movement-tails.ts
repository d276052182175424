import type { DType, HostTensor, Shape } from "@mp/core";
import { isFloat, type Op, type OpAttributes, type OpOf } from "@mp/core/graph";
import type { GeneratedRow, GeneratedRows } from "../generated-row.js";
import { sample } from "../op-sample.js";
import { formAt, labelled, lengthsOf, triplesOf } from "./tail-data.js";

type Form<K extends Op> = (
  length: number,
) => readonly [attributes: OpAttributes[K], ...operands: readonly Shape[]];

const plain = <K extends Op>(...forms: readonly Form<K>[]): GeneratedRow<K> => rows(forms, () => []);

/** One of the forms at each length, and more at other sizes. */
function rows<K extends Op>(
  forms: readonly Form<K>[],
  more: (dtype: DType) => readonly ReturnType<Form<K>>[],
): GeneratedRow<K> {
  return (dtype, random) =>
    [...lengthsOf(dtype).map((length) => formAt(forms, length)(length)), ...more(dtype)].map(
      ([attributes, ...operands]) =>
        sample<K>(attributes, ...operands.map((shape): HostTensor => labelled(random, dtype, shape))),
    );
}

const slice = (axis: number, start: number, end: number, step = 1): OpAttributes["Slice"] => ({
  axes: [axis],
  starts: [start],
  ends: [end],
  steps: [step],
});

const padValue = (dtype: DType): number => (dtype === "bool" ? 1 : isFloat(dtype) ? 1.5 : 3);

export const movementTails: GeneratedRows<OpOf<"movement">> = {
  Reshape: plain<"Reshape">(
    (n) => [{ shape: [n, 3] }, [3, n]],
    (n) => [{ shape: [n] }, [1, n]],
  ),
  Transpose: rows<"Transpose">(
    [
      (n) => [{ perm: [1, 0] }, [3, n]],
      (n) => [{ perm: [1, 0] }, [n, 3]],
      (n) => [{ perm: [0, 2, 1] }, [2, n, 3]],
      (n) => [{ perm: [1, 0, 2] }, [2, 3, n]],
      (n) => [{ perm: [2, 0, 1] }, [n, 2, 3]],
    ],
    (dtype) => triplesOf(dtype).map(([a, b]) => [{ perm: [1, 0] }, [a, b]]),
  ),
  Slice: plain<"Slice">(
    (n) => [slice(0, 0, n), [n + 3]],
    (n) => [slice(0, 1, n + 1), [n + 1]],
    (n) => [slice(1, 1, n + 1), [3, n + 2]],
    (n) => [slice(0, 0, 2 * n, 2), [2 * n + 1]],
    (n) => [slice(0, n, -1, -1), [n + 1]],
    (n) => [slice(0, 1, 3), [4, n]],
  ),
  Concat: plain<"Concat">(
    (n) => [{ axis: 0 }, [n], [3]],
    (n) => [{ axis: 0 }, [2], [n], [1]],
    (n) => [{ axis: 1 }, [3, n], [3, 2]],
    (n) => [{ axis: 1 }, [2, 1], [2, n]],
    (n) => [{ axis: 0 }, [2, n], [1, n]],
  ),
  Split: plain<"Split">(
    (n) => [{ axis: 0, split: [n, 3] }, [n + 3]],
    (n) => [{ axis: 0, split: [2, n, 1] }, [n + 3]],
    (n) => [{ axis: 1, split: [n, 2] }, [3, n + 2]],
    (n) => [{ axis: 1, split: [1, n] }, [2, n + 1]],
    (n) => [{ axis: 0, split: [2, 1] }, [3, n]],
  ),
  Expand: plain<"Expand">(
    (n) => [{ shape: [3, n] }, [n]],
    (n) => [{ shape: [n] }, []],
    (n) => [{ shape: [3, n] }, [3, 1]],
    (n) => [{ shape: [n, 3] }, [n, 1]],
    (n) => [{ shape: [2, 3, n] }, [2, 1, n]],
  ),
  Squeeze: plain<"Squeeze">((n) => [{ axes: [0] }, [1, n]]),
  Unsqueeze: plain<"Unsqueeze">((n) => [{ axes: [1] }, [n]]),
  Pad: (dtype, random) =>
    lengthsOf(dtype).map((length) => {
      const value = padValue(dtype);
      const of = (shape: Shape, pads: readonly number[], mode: OpAttributes["Pad"]["mode"]) =>
        sample<"Pad">({ pads, mode, value }, labelled(random, dtype, shape));
      return formAt(
        [
          of([length], [1, 2], "constant"),
          of([2, length], [0, 1, 1, 2], "constant"),
          of([length], [0, 3], "edge"),
          of([2, length], [1, 0, 0, 2], "edge"),
          of([length + 2], [length % 3, 2], "reflect"),
        ],
        length,
      );
    }),
  Tile: plain<"Tile">(
    (n) => [{ repeats: [3] }, [n]],
    (n) => [{ repeats: [2, 1] }, [2, n]],
    (n) => [{ repeats: [1, 2] }, [3, n]],
    (n) => [{ repeats: [n] }, [2]],
  ),
};
