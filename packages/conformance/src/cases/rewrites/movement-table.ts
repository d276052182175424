/** Two movements in a row, which optimizers merge into one, and movements around arithmetic. */
import type { DType } from "@mp/graph";
import { hostData } from "../../host-data.js";
import { FLOATS, type Kit, only, type PatternTable } from "./pattern.js";

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
    "a transpose and its inverse": ({ of, Transpose }) =>
      Transpose({ perm: [2, 0, 1] }, Transpose({ perm: [1, 2, 0] }, of(CUBE))),
    "a cyclic transpose twice": ({ of, Transpose }) =>
      Transpose({ perm: [1, 2, 0] }, Transpose({ perm: [1, 2, 0] }, of(CUBE))),
    "a cyclic transpose three times": ({ of, Transpose }) =>
      Transpose(
        { perm: [1, 2, 0] },
        Transpose({ perm: [1, 2, 0] }, Transpose({ perm: [1, 2, 0] }, of(CUBE))),
      ),
    "two transposes of four axes": ({ of, Transpose }) =>
      Transpose({ perm: [3, 1, 0, 2] }, Transpose({ perm: [2, 0, 3, 1] }, of([2, 2, 2, 2]))),
    "two swaps": ({ of, Transpose }) =>
      Transpose({ perm: [0, 2, 1] }, Transpose({ perm: [1, 0, 2] }, of(CUBE))),
    "a transpose that moves nothing": ({ of, Transpose }) => Transpose({ perm: [0, 1, 2] }, of(CUBE)),
    "a transpose of axes of one": ({ of, Transpose }) => Transpose({ perm: [1, 0, 2] }, of([1, 4, 3])),
    "a transpose beside an axis of one": ({ of, Transpose }) => Transpose({ perm: [2, 1, 0] }, of([4, 1, 3])),
    "a reshape of a transpose": ({ of, Transpose, Reshape }) =>
      Reshape({ shape: [3, 3] }, Transpose({ perm: [1, 0] }, of([3, 3]))),
    "a transpose of a reshape of a transpose": ({ of, Transpose, Reshape }) =>
      Transpose({ perm: [1, 0] }, Reshape({ shape: [4, 6] }, Transpose({ perm: [2, 0, 1] }, of(SHAPE)))),
    "a reshape of a reshape": ({ of, Reshape }) =>
      Reshape({ shape: [4, 6] }, Reshape({ shape: [24] }, of(SHAPE))),
    "a reshape and back": ({ of, Reshape }) =>
      Reshape({ shape: SHAPE }, Reshape({ shape: [6, 4] }, of(SHAPE))),
    "a reshape is no transpose": ({ of, Reshape }) => Reshape({ shape: [3, 2] }, of([2, 3])),
    "a squeeze of an unsqueeze": ({ of, Unsqueeze, Squeeze }) =>
      Squeeze({ axes: [1] }, Unsqueeze({ axes: [1] }, of(SHAPE))),
    "a squeeze of another axis": ({ of, Unsqueeze, Squeeze }) =>
      Squeeze({ axes: [0] }, Unsqueeze({ axes: [2] }, of([1, 2, 3]))),
    "a transpose of an unsqueeze": ({ of, Unsqueeze, Transpose }) =>
      Transpose({ perm: [1, 2, 0] }, Unsqueeze({ axes: [0] }, of([3, 4]))),
    "an expand of an expand": ({ of, Expand }) =>
      Expand({ shape: [2, 3, 4] }, Expand({ shape: [3, 4] }, of([3, 1]))),
    "a transpose of an expand": ({ of, Expand, Transpose }) =>
      Transpose({ perm: [1, 0] }, Expand({ shape: [4, 4] }, of([4, 1]))),
    "a reshape of an expand": ({ of, Expand, Reshape }) =>
      Reshape({ shape: [2, 6] }, Expand({ shape: [3, 4] }, of([3, 1]))),
    "a slice of an expand": ({ of, Expand, Slice }) =>
      Slice(slice(0, 1, 3), Expand({ shape: [4, 3] }, of([3]))),
    "a tile of a tile": ({ of, Tile }) => Tile({ repeats: [2, 1] }, Tile({ repeats: [1, 3] }, of([2, 3]))),
    "a tile is no repeat": ({ of, Tile, Reshape }) =>
      Reshape({ shape: [3, 2] }, Tile({ repeats: [2] }, of([3]))),
    "a slice of a slice": ({ of, Slice }) => Slice(slice(0, 1, 4), Slice(slice(0, 2, 8), of([10]))),
    "a slice of a slice with steps": ({ of, Slice }) =>
      Slice(slice(0, 1, 5, 2), Slice(slice(0, 1, 20, 3), of([20]))),
    "a slice of a slice from the end": ({ of, Slice }) =>
      Slice(slice(0, 3, 0, -1), Slice(slice(0, 8, 1, -2), of([10]))),
    "backwards twice": ({ of, Slice }) => Slice(slice(0, 5, -1, -1), Slice(slice(0, 5, -1, -1), of([6]))),
    "backwards is not everything": ({ of, Slice }) => Slice(slice(0, 5, -1, -1), of([6])),
    "a slice of everything": ({ of, Slice }) => Slice(slice(1, 0, 3), of([2, 3])),
    "slices along two axes": ({ of, Slice }) => Slice(slice(1, 1, 3), Slice(slice(0, 1, 3), of([4, 4]))),
    "a slice of a transpose": ({ of, Transpose, Slice }) =>
      Slice(slice(0, 1, 3), Transpose({ perm: [1, 0] }, of([4, 4]))),
    "a slice of a reshape": ({ of, Reshape, Slice }) =>
      Slice(slice(0, 1, 3), Reshape({ shape: [4, 6] }, of(SHAPE))),
    "a slice of a concat, from the second": ({ of, Concat, Slice }) =>
      Slice(slice(0, 3, 6), Concat({ axis: 0 }, of([3, 2]), of([3, 2]))),
    "a slice of a concat, of both": ({ of, Concat, Slice }) =>
      Slice(slice(0, 2, 5), Concat({ axis: 0 }, of([3, 2]), of([3, 2]))),
    "a concat of slices in order": (kit) => joinSlices(kit, [0, 2], [2, 5]),
    "a concat of slices out of order": (kit) => joinSlices(kit, [2, 5], [0, 2]),
    "a concat of slices with a gap": (kit) => joinSlices(kit, [0, 2], [3, 5]),
    "a concat of slices that overlap": (kit) => joinSlices(kit, [0, 3], [2, 5]),
    "a concat of one slice twice": (kit) => joinSlices(kit, [0, 2], [0, 2]),
    "a concat of a split": ({ of, all, Concat }) =>
      Concat({ axis: 0 }, ...all("Split", { axis: 0, split: [2, 3] }, of([5, 2]))),
    "a concat of a split, swapped": ({ of, all, Concat }) =>
      Concat({ axis: 0 }, ...[...all("Split", { axis: 0, split: [2, 2] }, of([4, 2]))].reverse()),
    "a concat of a split along another axis": ({ of, all, Concat }) =>
      Concat({ axis: 1 }, ...all("Split", { axis: 0, split: [2, 2] }, of([4, 4]))),
    "a split of a concat": ({ of, all, Concat }) =>
      all("Split", { axis: 0, split: [2, 2] }, Concat({ axis: 0 }, of([2, 3]), of([2, 3]))),
    "a split of a concat elsewhere": ({ of, all, Concat }) =>
      all("Split", { axis: 0, split: [1, 3] }, Concat({ axis: 0 }, of([2, 3]), of([2, 3]))),
    "a concat of a concat": ({ of, Concat }) =>
      Concat({ axis: 1 }, Concat({ axis: 0 }, of([2, 3]), of([1, 3])), of([3, 2])),
    "a concat of one": ({ of, Concat }) => Concat({ axis: 0 }, of([2, 3])),
    "a concat with nothing": ({ of, Concat }) => Concat({ axis: 0 }, of([0, 3]), of([2, 3])),
    "a concat of the same twice": ({ of, Concat }) => {
      const x = of([2, 3]);
      return Concat({ axis: 0 }, x, x);
    },
    "a gather of a gather": (kit) =>
      kit.Gather(
        { axis: 0 },
        kit.Gather({ axis: 0 }, kit.of([5, 2]), indices(kit, 4, 0, 3)),
        indices(kit, 2, 2, 0),
      ),
    "a gather of another axis": (kit) =>
      kit.Gather(
        { axis: 1 },
        kit.Gather({ axis: 0 }, kit.of([5, 5]), indices(kit, 4, 0, 3)),
        indices(kit, 2, 2, 0),
      ),
    "a gather in order": (kit) => kit.Gather({ axis: 0 }, kit.of([4, 2]), indices(kit, 0, 1, 2, 3)),
    "a gather of a part in order": (kit) => kit.Gather({ axis: 0 }, kit.of([6, 2]), indices(kit, 1, 2, 3)),
    "a gather in steps": (kit) => kit.Gather({ axis: 0 }, kit.of([8, 2]), indices(kit, 1, 3, 5)),
    "a gather nearly in steps": (kit) => kit.Gather({ axis: 0 }, kit.of([8, 2]), indices(kit, 1, 3, 6)),
    "a gather backwards": (kit) => kit.Gather({ axis: 0 }, kit.of([4, 2]), indices(kit, 3, 2, 1, 0)),
    "a gather and its inverse": (kit) =>
      kit.Gather(
        { axis: 0 },
        kit.Gather({ axis: 0 }, kit.of([3, 2]), indices(kit, 1, 2, 0)),
        indices(kit, 2, 0, 1),
      ),
    "a gather of a concat": (kit) =>
      kit.Gather({ axis: 0 }, kit.Concat({ axis: 0 }, kit.of([2, 2]), kit.of([2, 2])), indices(kit, 3, -4)),
    "a gather of a slice": (kit) =>
      kit.Gather({ axis: 0 }, kit.Slice(slice(0, 2, 6), kit.of([8])), indices(kit, 0, -1)),
    "a slice of a gather": (kit) =>
      kit.Slice(slice(0, 1, 3), kit.Gather({ axis: 0 }, kit.of([8]), indices(kit, 5, 1, 7))),
    "a gather of a transpose": (kit) =>
      kit.Gather({ axis: 0 }, kit.Transpose({ perm: [1, 0] }, kit.of([4, 4])), indices(kit, 2, 1)),
    "a transpose through a sum": ({ of, dtype, Transpose, Xor, Sub }) => {
      const [x, row] = [of([3, 3]), of([3])];
      const turned = Transpose({ perm: [1, 0] }, x);
      return dtype === "bool" ? Xor(turned, row) : Sub(turned, row);
    },
    "a transpose of a sum with a row": ({ of, dtype, Xor, Sub, Transpose }) => {
      const [x, row] = [of([3, 3]), of([3])];
      return Transpose({ perm: [1, 0] }, dtype === "bool" ? Xor(x, row) : Sub(x, row));
    },
    "a reshape of a sum with a row": ({ of, dtype, Xor, Sub, Reshape }) => {
      const [x, row] = [of([2, 6]), of([6])];
      return Reshape({ shape: [6, 2] }, dtype === "bool" ? Xor(x, row) : Sub(x, row));
    },
    "a concat of sums with rows": ({ of, by, dtype, Concat }) => {
      const sumWithRow = () => by(dtype === "bool" ? "Xor" : "Sub", {}, of([2, 3]), of([3]));
      return Concat({ axis: 1 }, sumWithRow(), sumWithRow());
    },
    "a choice of slices": ({ of, Slice, Where }) =>
      Where(
        Slice(slice(0, 1, 4), of([5], "distinct", "bool")),
        Slice(slice(0, 2, 5), of([5])),
        Slice(slice(0, 0, 3), of([5])),
      ),
  },
};

function joinSlices({ of, Concat, Slice }: Kit, ...ranges: readonly (readonly [number, number])[]) {
  const x = of([5, 2]);
  return Concat({ axis: 0 }, ...ranges.map(([start, end]) => Slice(slice(0, start, end), x)));
}

const NUMBERED: readonly DType[] = [...FLOATS, "i32"];

export const paddingTable: PatternTable = {
  dtypes: NUMBERED,
  patterns: {
    "a pad of a pad": ({ of, Pad }) => Pad(padding([0, 2, 1, 0]), Pad(padding([1, 0, 0, 1]), of([2, 3]))),
    "a pad of a pad of another value": ({ of, Pad }) =>
      Pad(padding([1, 1, 1, 1], 7), Pad(padding([1, 1, 1, 1], 3), of([2, 3]))),
    "a constant pad of an edge pad": ({ of, Pad }) =>
      Pad(padding([1, 1], 0), Pad(padding([2, 1], 0, "edge"), of([4]))),
    "an edge pad of a constant pad": ({ of, Pad }) =>
      Pad(padding([2, 1], 0, "edge"), Pad(padding([1, 1], 9), of([4]))),
    "a reflected pad twice": ({ of, Pad }) =>
      Pad(padding([2, 2], 0, "reflect"), Pad(padding([2, 1], 0, "reflect"), of([4]))),
    "an edge pad twice": ({ of, Pad }) =>
      Pad(padding([2, 2], 0, "edge"), Pad(padding([2, 1], 0, "edge"), of([4]))),
    "a slice of a pad": ({ of, Pad, Slice }) => Slice(slice(0, 1, 4), Pad(padding([2, 2], 5), of([4]))),
    "a slice that undoes a pad": ({ of, Pad, Slice }) =>
      Slice(slice(0, 2, 6), Pad(padding([2, 3], 5), of([4]))),
    "a slice of a pad with steps": ({ of, Pad, Slice }) =>
      Slice(slice(0, 0, 8, 3), Pad(padding([2, 3], 5), of([4]))),
    "a pad of a slice": ({ of, Slice, Pad }) => Pad(padding([1, 1], 0), Slice(slice(0, 1, 4), of([5]))),
    "a pad that adds nothing": ({ of, Pad }) => Pad(padding([0, 0, 0, 0], 5), of([2, 3])),
    "a pad by -0": only(FLOATS, ({ of, Pad }) => Pad(padding([1, 1], -0), of([2]))),
    "a sum of pads": ({ of, Pad, Add }) => Add(Pad(padding([0, 2]), of([3])), Pad(padding([2, 0]), of([3]))),
    "a product of a pad": ({ of, Pad, Mul }) => Mul(Pad(padding([1, 1], 5), of([3])), of([5])),
    "a pad of a sum": ({ of, Add, Pad }) => Pad(padding([1, 1], 5), Add(of([3]), of([3]))),
    "a transpose of a pad": ({ of, Pad, Transpose }) =>
      Transpose({ perm: [1, 0] }, Pad(padding([1, 0, 0, 1], 5), of([3, 3]))),
    "a pad of a transpose": ({ of, Transpose, Pad }) =>
      Pad(padding([1, 0, 0, 1], 5), Transpose({ perm: [1, 0] }, of([3, 3]))),
  },
};
