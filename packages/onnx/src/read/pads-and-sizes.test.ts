// Pad with negative pads and Resize by scales that give no whole length, against the text of ONNX.
import { type HostTensor, tensor } from "@mp/graph";
import { evaluate } from "@mp/graph/reference";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { reading } from "../../test/small-models.js";
import { float, type OnnxAttributes, onnxNode, string } from "../model.js";
import { COORDINATES, KERNELS } from "./compositions/resize-weights.js";

const info = (name: string, shape: readonly number[]) => ({
  name,
  type: { elementType: "f32" as const, shape },
  metadata: {},
});
const counted = (shape: readonly number[]): HostTensor =>
  tensor(
    Float32Array.from({ length: shape.reduce((product, size) => product * size, 1) }, (_, at) => at + 1),
    shape,
  );

/** The result of a node with x and constant operands; an undefined operand is omitted. */
function result(
  op: string,
  attributes: OnnxAttributes,
  x: HostTensor,
  operands: readonly (HostTensor | undefined)[],
): HostTensor {
  const names = operands.map((operand, at) => (operand === undefined ? "" : `c${at}`));
  const { graph } = reading({
    inputs: [info("x", x.shape)],
    initializers: operands.flatMap((operand, at) =>
      operand === undefined ? [] : [{ name: `c${at}`, tensor: operand }],
    ),
    nodes: [onnxNode(op, ["x", ...names], ["y"], { name: "n", attributes })],
    outputs: [{ name: "y", metadata: {} }],
  });
  return evaluate(graph, { x })["y"] as HostTensor;
}

/** One axis padded, by the text: "adds or removes (if negative)"; copies come from what is left. */
function padded(row: readonly number[], before: number, after: number, mode: string): readonly number[] {
  const kept = row.slice(Math.max(0, -before), row.length - Math.max(0, -after));
  const size = mode === "constant" ? row.length : kept.length;
  const at = (place: number): number => {
    if (mode === "constant") return row[place - before] ?? 9;
    const inside = place - Math.max(0, before);
    if (mode === "edge") return kept[Math.min(Math.max(inside, 0), size - 1)] as number;
    if (mode === "wrap") return kept[((inside % size) + size) % size] as number;
    const mirrored = Math.abs(inside);
    return kept[mirrored < size ? mirrored : 2 * (size - 1) - mirrored] as number;
  };
  return Array.from({ length: row.length + before + after }, (_, place) => at(place));
}

describe("Pad", () => {
  it.each(["constant", "reflect", "edge", "wrap"])("adds or removes, by %s", (mode) => {
    const end = fc.integer({ min: -3, max: 3 });
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 6 }), end, end, fc.nat(1), (size, before, after, axis) => {
        const kept = size + Math.min(0, before) + Math.min(0, after);
        fc.pre(
          mode === "constant"
            ? size + before + after >= 0
            : kept > (mode === "reflect" ? Math.max(before, after, 0) : 0),
        );
        const row = Array.from({ length: size }, (_, at) => at + 1);
        const shape = axis === 0 ? [size, 1] : [1, size];
        const pads = tensor(
          BigInt64Array.from(axis === 0 ? [before, 0, after, 0] : [0, before, 0, after], BigInt),
        );
        const y = result("Pad", { mode: string(mode) }, counted(shape), [
          pads,
          tensor(Float32Array.of(9), []),
        ]);
        expect([...y.data].map(Number)).toEqual(padded(row, before, after, mode));
        expect(y.shape[axis]).toBe(size + before + after);
      }),
      { numRuns: 60 },
    );
  });
});

const resized = (
  coordinates: string,
  kernel: string,
  x: HostTensor,
  target: { readonly scale?: number; readonly size?: number },
  region: readonly number[] = [0, 0, 0, 1, 1, 1],
): readonly number[] => {
  const { scale, size } = target;
  const scales = scale === undefined ? undefined : tensor(Float32Array.of(1, 1, scale));
  const sizes = size === undefined ? undefined : tensor(BigInt64Array.of(1n, 1n, BigInt(size)));
  const attributes = {
    coordinate_transformation_mode: string(coordinates),
    mode: string(kernel),
    extrapolation_value: float(-1),
  };
  const y = result("Resize", attributes, x, [tensor(Float32Array.from(region)), scales, sizes]);
  return [...y.data].map(Number);
};

describe("Resize", () => {
  const kernel = fc.constantFrom(...KERNELS);
  /** Size · scale is an exact number of eighths, so that no rounding decides the size of the result. */
  const sizeAndScale = fc
    .tuple(fc.integer({ min: 1, max: 9 }), fc.integer({ min: 1, max: 32 }))
    .map(([size, eighths]) => ({ size, scale: eighths / 8 }))
    .filter(({ size, scale }) => size * scale >= 1);

  it.each(["align_corners", "tf_crop_and_resize"])(
    "by scales is that to the whole length, where %s counts from end to end",
    (coordinates) => {
      fc.assert(
        fc.property(sizeAndScale, kernel, fc.boolean(), ({ size, scale }, kernel, crops) => {
          const x = counted([1, 1, size]);
          const region = crops ? [0, 0, 0.25, 1, 1, 0.75] : undefined;
          const whole = Math.floor(size * scale);
          const got = resized(coordinates, kernel, x, { scale }, region);
          expect(got).toEqual(resized(coordinates, kernel, x, { size: whole }, region));
          const last = coordinates === "align_corners" && whole > 1 ? [1, size] : undefined;
          if (last !== undefined) expect([got[0], got.at(-1)]).toEqual(last);
        }),
        { numRuns: 100 },
      );
    },
  );

  it("to one pixel takes the first, where PyTorch's half pixels are meant", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 9 }), kernel, fc.boolean(), (size, kernel, byScale) => {
        const target = byScale ? { scale: 1.2 / size } : { size: 1 };
        expect(resized("pytorch_half_pixel", kernel, counted([1, 1, size]), target)).toEqual([1]);
      }),
    );
  });

  it("has the values of the text", () => {
    const x = tensor(Float32Array.of(0, 1, 2, 3, 4, 5), [1, 1, 6]);
    const ninths = Array.from({ length: 10 }, (_, at) => (at * 5) / 9);
    for (const [at, value] of resized("align_corners", "linear", x, { scale: 1.7 }).entries())
      expect(value).toBeCloseTo(ninths[at] as number, 5);
    expect(resized("tf_crop_and_resize", "linear", x, { scale: 0.6 }, [0, 0, 0.2, 1, 1, 0.8])).toEqual([
      1, 2.5, 4,
    ]);
    expect(COORDINATES).toContain("tf_crop_and_resize");
  });
});
