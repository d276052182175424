/** Two movements in a row, which optimizers merge into one, and movements around arithmetic. */
import type { DType } from "@mp/graph";
import { hostData } from "../../host-data.js";
import { FLOATS, type Kit, type PatternTable } from "./pattern.js";

const MOVED: readonly DType[] = ["f32", "f16", "bf16", "i32", "i64", "bool"];
const SHAPE = [2, 3, 4];
const CUBE = [3, 3, 3];

const slice = (axis: number, start: number, end: number, step = 1) => ({
  axes: [axis],
  starts: [start],
  ends: [end],
  steps: [step],
});
const indices = ({ constant }: Kit, ...numbers: readonly number[]) => constant(hostData("i32", numbers));
const padding = (pads: readonly number[], value = 0, mode: "constant" | "reflect" | "edge" = "constant") => ({
  pads,
  mode,
  value,
});

export const movementTable: PatternTable = {
  dtypes: MOVED,
  patterns: {
    "a transpose and its inverse": ({ of, by }) =>
      by("Transpose", { perm: [2, 0, 1] }, by("Transpose", { perm: [1, 2, 0] }, of(CUBE))),
    "a cyclic transpose twice": ({ of, by }) =>
      by("Transpose", { perm: [1, 2, 0] }, by("Transpose", { perm: [1, 2, 0] }, of(CUBE))),
    "a cyclic transpose three times": ({ of, by }) =>
      by(
        "Transpose",
        { perm: [1, 2, 0] },
        by("Transpose", { perm: [1, 2, 0] }, by("Transpose", { perm: [1, 2, 0] }, of(CUBE))),
      ),
    "two transposes of four axes": ({ of, by }) =>
      by("Transpose", { perm: [3, 1, 0, 2] }, by("Transpose", { perm: [2, 0, 3, 1] }, of([2, 2, 2, 2]))),
    "two swaps": ({ of, by }) =>
      by("Transpose", { perm: [0, 2, 1] }, by("Transpose", { perm: [1, 0, 2] }, of(CUBE))),
    "a transpose that moves nothing": ({ of, by }) => by("Transpose", { perm: [0, 1, 2] }, of(CUBE)),
    "a transpose of axes of one": ({ of, by }) => by("Transpose", { perm: [1, 0, 2] }, of([1, 4, 3])),
    "a transpose beside an axis of one": ({ of, by }) => by("Transpose", { perm: [2, 1, 0] }, of([4, 1, 3])),
    "a reshape of a transpose": ({ of, by }) =>
      by("Reshape", { shape: [3, 3] }, by("Transpose", { perm: [1, 0] }, of([3, 3]))),
    "a transpose of a reshape of a transpose": ({ of, by }) =>
      by(
        "Transpose",
        { perm: [1, 0] },
        by("Reshape", { shape: [4, 6] }, by("Transpose", { perm: [2, 0, 1] }, of(SHAPE))),
      ),
    "a reshape of a reshape": ({ of, by }) =>
      by("Reshape", { shape: [4, 6] }, by("Reshape", { shape: [24] }, of(SHAPE))),
    "a reshape and back": ({ of, by }) =>
      by("Reshape", { shape: SHAPE }, by("Reshape", { shape: [6, 4] }, of(SHAPE))),
    "a reshape is no transpose": ({ of, by }) => by("Reshape", { shape: [3, 2] }, of([2, 3])),
    "a squeeze of an unsqueeze": ({ of, by }) =>
      by("Squeeze", { axes: [1] }, by("Unsqueeze", { axes: [1] }, of(SHAPE))),
    "a squeeze of another axis": ({ of, by }) =>
      by("Squeeze", { axes: [0] }, by("Unsqueeze", { axes: [2] }, of([1, 2, 3]))),
    "a transpose of an unsqueeze": ({ of, by }) =>
      by("Transpose", { perm: [1, 2, 0] }, by("Unsqueeze", { axes: [0] }, of([3, 4]))),
    "an expand of an expand": ({ of, by }) =>
      by("Expand", { shape: [2, 3, 4] }, by("Expand", { shape: [3, 4] }, of([3, 1]))),
    "a transpose of an expand": ({ of, by }) =>
      by("Transpose", { perm: [1, 0] }, by("Expand", { shape: [4, 4] }, of([4, 1]))),
    "a reshape of an expand": ({ of, by }) =>
      by("Reshape", { shape: [2, 6] }, by("Expand", { shape: [3, 4] }, of([3, 1]))),
    "a slice of an expand": ({ of, by }) =>
      by("Slice", slice(0, 1, 3), by("Expand", { shape: [4, 3] }, of([3]))),
    "a tile of a tile": ({ of, by }) =>
      by("Tile", { repeats: [2, 1] }, by("Tile", { repeats: [1, 3] }, of([2, 3]))),
    "a tile is no repeat": ({ of, by }) =>
      by("Reshape", { shape: [3, 2] }, by("Tile", { repeats: [2] }, of([3]))),
    "a slice of a slice": ({ of, by }) => by("Slice", slice(0, 1, 4), by("Slice", slice(0, 2, 8), of([10]))),
    "a slice of a slice with steps": ({ of, by }) =>
      by("Slice", slice(0, 1, 5, 2), by("Slice", slice(0, 1, 20, 3), of([20]))),
    "a slice of a slice from the end": ({ of, by }) =>
      by("Slice", slice(0, 3, 0, -1), by("Slice", slice(0, 8, 1, -2), of([10]))),
    "backwards twice": ({ of, by }) =>
      by("Slice", slice(0, 5, -1, -1), by("Slice", slice(0, 5, -1, -1), of([6]))),
    "backwards is not everything": ({ of, by }) => by("Slice", slice(0, 5, -1, -1), of([6])),
    "a slice of everything": ({ of, by }) => by("Slice", slice(1, 0, 3), of([2, 3])),
    "slices along two axes": ({ of, by }) =>
      by("Slice", slice(1, 1, 3), by("Slice", slice(0, 1, 3), of([4, 4]))),
    "a slice of a transpose": ({ of, by }) =>
      by("Slice", slice(0, 1, 3), by("Transpose", { perm: [1, 0] }, of([4, 4]))),
    "a slice of a reshape": ({ of, by }) =>
      by("Slice", slice(0, 1, 3), by("Reshape", { shape: [4, 6] }, of(SHAPE))),
    "a slice of a concat, from the second": ({ of, by }) =>
      by("Slice", slice(0, 3, 6), by("Concat", { axis: 0 }, of([3, 2]), of([3, 2]))),
    "a slice of a concat, of both": ({ of, by }) =>
      by("Slice", slice(0, 2, 5), by("Concat", { axis: 0 }, of([3, 2]), of([3, 2]))),
    "a concat of slices in order": (kit) => joined(kit, [0, 2], [2, 5]),
    "a concat of slices out of order": (kit) => joined(kit, [2, 5], [0, 2]),
    "a concat of slices with a gap": (kit) => joined(kit, [0, 2], [3, 5]),
    "a concat of slices that overlap": (kit) => joined(kit, [0, 3], [2, 5]),
    "a concat of one slice twice": (kit) => joined(kit, [0, 2], [0, 2]),
    "a concat of a split": ({ of, by, all }) =>
      by("Concat", { axis: 0 }, ...all("Split", { axis: 0, split: [2, 3] }, of([5, 2]))),
    "a concat of a split, swapped": ({ of, by, all }) =>
      by("Concat", { axis: 0 }, ...[...all("Split", { axis: 0, split: [2, 2] }, of([4, 2]))].reverse()),
    "a concat of a split along another axis": ({ of, by, all }) =>
      by("Concat", { axis: 1 }, ...all("Split", { axis: 0, split: [2, 2] }, of([4, 4]))),
    "a split of a concat": ({ of, by, all }) =>
      all("Split", { axis: 0, split: [2, 2] }, by("Concat", { axis: 0 }, of([2, 3]), of([2, 3]))),
    "a split of a concat elsewhere": ({ of, by, all }) =>
      all("Split", { axis: 0, split: [1, 3] }, by("Concat", { axis: 0 }, of([2, 3]), of([2, 3]))),
    "a concat of a concat": ({ of, by }) =>
      by("Concat", { axis: 1 }, by("Concat", { axis: 0 }, of([2, 3]), of([1, 3])), of([3, 2])),
    "a concat of one": ({ of, by }) => by("Concat", { axis: 0 }, of([2, 3])),
    "a concat with nothing": ({ of, by }) => by("Concat", { axis: 0 }, of([0, 3]), of([2, 3])),
    "a concat of the same twice": ({ of, by }) => {
      const x = of([2, 3]);
      return by("Concat", { axis: 0 }, x, x);
    },
    "a gather of a gather": (kit) =>
      kit.by(
        "Gather",
        { axis: 0 },
        kit.by("Gather", { axis: 0 }, kit.of([5, 2]), indices(kit, 4, 0, 3)),
        indices(kit, 2, 2, 0),
      ),
    "a gather of another axis": (kit) =>
      kit.by(
        "Gather",
        { axis: 1 },
        kit.by("Gather", { axis: 0 }, kit.of([5, 5]), indices(kit, 4, 0, 3)),
        indices(kit, 2, 2, 0),
      ),
    "a gather in order": (kit) => kit.by("Gather", { axis: 0 }, kit.of([4, 2]), indices(kit, 0, 1, 2, 3)),
    "a gather of a part in order": (kit) =>
      kit.by("Gather", { axis: 0 }, kit.of([6, 2]), indices(kit, 1, 2, 3)),
    "a gather in steps": (kit) => kit.by("Gather", { axis: 0 }, kit.of([8, 2]), indices(kit, 1, 3, 5)),
    "a gather nearly in steps": (kit) => kit.by("Gather", { axis: 0 }, kit.of([8, 2]), indices(kit, 1, 3, 6)),
    "a gather backwards": (kit) => kit.by("Gather", { axis: 0 }, kit.of([4, 2]), indices(kit, 3, 2, 1, 0)),
    "a gather and its inverse": (kit) =>
      kit.by(
        "Gather",
        { axis: 0 },
        kit.by("Gather", { axis: 0 }, kit.of([3, 2]), indices(kit, 1, 2, 0)),
        indices(kit, 2, 0, 1),
      ),
    "a gather of a concat": (kit) =>
      kit.by(
        "Gather",
        { axis: 0 },
        kit.by("Concat", { axis: 0 }, kit.of([2, 2]), kit.of([2, 2])),
        indices(kit, 3, -4),
      ),
    "a gather of a slice": (kit) =>
      kit.by("Gather", { axis: 0 }, kit.by("Slice", slice(0, 2, 6), kit.of([8])), indices(kit, 0, -1)),
    "a slice of a gather": (kit) =>
      kit.by("Slice", slice(0, 1, 3), kit.by("Gather", { axis: 0 }, kit.of([8]), indices(kit, 5, 1, 7))),
    "a gather of a transpose": (kit) =>
      kit.by(
        "Gather",
        { axis: 0 },
        kit.by("Transpose", { perm: [1, 0] }, kit.of([4, 4])),
        indices(kit, 2, 1),
      ),
    "a transpose through a sum": ({ of, by, on, dtype }) => {
      const [x, row] = [of([3, 3]), of([3])];
      const turned = by("Transpose", { perm: [1, 0] }, x);
      return dtype === "bool" ? on("Xor", turned, row) : on("Sub", turned, row);
    },
    "a transpose of a sum with a row": ({ of, by, on, dtype }) => {
      const [x, row] = [of([3, 3]), of([3])];
      return by("Transpose", { perm: [1, 0] }, dtype === "bool" ? on("Xor", x, row) : on("Sub", x, row));
    },
    "a reshape of a sum with a row": ({ of, by, on, dtype }) => {
      const [x, row] = [of([2, 6]), of([6])];
      return by("Reshape", { shape: [6, 2] }, dtype === "bool" ? on("Xor", x, row) : on("Sub", x, row));
    },
    "a concat of sums with rows": ({ of, by, on, dtype }) => {
      const added = () => on(dtype === "bool" ? "Xor" : "Sub", of([2, 3]), of([3]));
      return by("Concat", { axis: 1 }, added(), added());
    },
    "a choice of slices": ({ of, by, on }) =>
      on(
        "Where",
        by("Slice", slice(0, 1, 4), of([5], "distinct", "bool")),
        by("Slice", slice(0, 2, 5), of([5])),
        by("Slice", slice(0, 0, 3), of([5])),
      ),
  },
};

function joined({ of, by }: Kit, ...ranges: readonly (readonly [number, number])[]) {
  const x = of([5, 2]);
  return by("Concat", { axis: 0 }, ...ranges.map(([start, end]) => by("Slice", slice(0, start, end), x)));
}

const NUMBERED: readonly DType[] = [...FLOATS, "i32"];

export const paddingTable: PatternTable = {
  dtypes: NUMBERED,
  patterns: {
    "a pad of a pad": ({ of, by }) =>
      by("Pad", padding([0, 2, 1, 0]), by("Pad", padding([1, 0, 0, 1]), of([2, 3]))),
    "a pad of a pad of another value": ({ of, by }) =>
      by("Pad", padding([1, 1, 1, 1], 7), by("Pad", padding([1, 1, 1, 1], 3), of([2, 3]))),
    "a constant pad of an edge pad": ({ of, by }) =>
      by("Pad", padding([1, 1], 0), by("Pad", padding([2, 1], 0, "edge"), of([4]))),
    "an edge pad of a constant pad": ({ of, by }) =>
      by("Pad", padding([2, 1], 0, "edge"), by("Pad", padding([1, 1], 9), of([4]))),
    "a reflected pad twice": ({ of, by }) =>
      by("Pad", padding([2, 2], 0, "reflect"), by("Pad", padding([2, 1], 0, "reflect"), of([4]))),
    "an edge pad twice": ({ of, by }) =>
      by("Pad", padding([2, 2], 0, "edge"), by("Pad", padding([2, 1], 0, "edge"), of([4]))),
    "a slice of a pad": ({ of, by }) => by("Slice", slice(0, 1, 4), by("Pad", padding([2, 2], 5), of([4]))),
    "a slice that undoes a pad": ({ of, by }) =>
      by("Slice", slice(0, 2, 6), by("Pad", padding([2, 3], 5), of([4]))),
    "a slice of a pad with steps": ({ of, by }) =>
      by("Slice", slice(0, 0, 8, 3), by("Pad", padding([2, 3], 5), of([4]))),
    "a pad of a slice": ({ of, by }) => by("Pad", padding([1, 1], 0), by("Slice", slice(0, 1, 4), of([5]))),
    "a pad that adds nothing": ({ of, by }) => by("Pad", padding([0, 0, 0, 0], 5), of([2, 3])),
    "a pad by -0": { make: ({ of, by }) => by("Pad", padding([1, 1], -0), of([2])), dtypes: FLOATS },
    "a sum of pads": ({ of, by, on }) =>
      on("Add", by("Pad", padding([0, 2]), of([3])), by("Pad", padding([2, 0]), of([3]))),
    "a product of a pad": ({ of, by, on }) => on("Mul", by("Pad", padding([1, 1], 5), of([3])), of([5])),
    "a pad of a sum": ({ of, by, on }) => by("Pad", padding([1, 1], 5), on("Add", of([3]), of([3]))),
    "a transpose of a pad": ({ of, by }) =>
      by("Transpose", { perm: [1, 0] }, by("Pad", padding([1, 0, 0, 1], 5), of([3, 3]))),
    "a pad of a transpose": ({ of, by }) =>
      by("Pad", padding([1, 0, 0, 1], 5), by("Transpose", { perm: [1, 0] }, of([3, 3]))),
  },
};
