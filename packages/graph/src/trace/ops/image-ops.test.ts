// Compares ONNX operators that are composed of others here with onnx.reference, whose results are in the fixture of
// test/fixtures/image-ops.py.
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { gradientError, type Point, pointOf } from "../../../test/finite-differences.js";
import { runTraced } from "../../../test/run-traced.js";
import { tensor } from "../../host/host-tensor.js";
import type { Tensor } from "../tensor.js";
import { groupNormalization, instanceNormalization } from "./group-normalization.js";
import { depthToSpace, lrn, spaceToDepth } from "./image.js";
import { globalAveragePool, globalMaxPool } from "./pooling.js";
import { resize } from "./resize.js";

interface Case {
  readonly op: keyof typeof functions;
  readonly options: Readonly<Record<string, unknown>>;
  readonly inputs: readonly Point[];
  readonly output: Point;
}

type Blocks = { readonly blockSize: number };
const functions = {
  GroupNormalization: (options, x, scale, bias) => groupNormalization(x, scale, bias, options as never),
  InstanceNormalization: (options, x, scale, bias) => instanceNormalization(x, scale, bias, options),
  LRN: (options, x) => lrn(x, options as never),
  DepthToSpace: ({ blockSize, ...rest }, x) => depthToSpace(x, blockSize as Blocks["blockSize"], rest),
  SpaceToDepth: ({ blockSize, ...rest }, x) => spaceToDepth(x, blockSize as Blocks["blockSize"], rest),
  GlobalAveragePool: (_, x) => globalAveragePool(x, { keepdims: true }),
  GlobalMaxPool: (_, x) => globalMaxPool(x, { keepdims: true }),
  Resize: (options, x) => resize(x, options),
} satisfies Readonly<
  Record<string, (options: Record<string, unknown>, x: Tensor, scale: Tensor, bias: Tensor) => Tensor>
>;

const cases = JSON.parse(
  readFileSync(new URL("../../../test/fixtures/image-ops.json", import.meta.url), "utf8"),
) as readonly Case[];

const titled = cases.map(
  (entry) => [`${entry.op} of [${entry.inputs[0]?.shape}] ${JSON.stringify(entry.options)}`, entry] as const,
);
const apply = ({ op, options }: Case, operands: readonly Tensor[]): Tensor =>
  functions[op](options as never, ...(operands as [Tensor, Tensor, Tensor]));

describe.each(titled)("%s", (_, entry) => {
  it("is ONNX's", () => {
    const inputs = entry.inputs.map(({ shape, data }) => tensor(Float32Array.from(data), shape));
    const { y } = runTraced({ inputs }, (t) => ({ y: apply(entry, t.inputs as readonly Tensor[]) }));
    expect(y.shape).toEqual(entry.output.shape);
    entry.output.data.forEach((want, at) => {
      expect(Math.abs(Number(y.data[at]) - want)).toBeLessThan(4e-6 * Math.max(1, Math.abs(want)));
    });
  });
});

const one = (op: Case["op"]): readonly (readonly [string, Case])[] => {
  const found = titled.filter(([, entry]) => entry.op === op);
  return op === "Resize" ? found.slice(0, 30) : found;
};

describe.each((Object.keys(functions) as Case["op"][]).flatMap(one))("the gradient of %s", (_, entry) => {
  it("agrees with finite differences", () => {
    const points = entry.inputs.map(({ shape }, index) => pointOf(shape, index));
    expect(gradientError((...operands) => apply(entry, operands), points)).toBeLessThan(2e-6);
  });
});

describe("what is not there", () => {
  const x = tensor(new Float32Array(24), [1, 2, 3, 4]);
  const of = (fn: (x: Tensor) => Tensor) => runTraced({ x }, (t) => ({ y: fn(t.x as Tensor) }));

  it("is refused by name", () => {
    const resized = (options: object) => () => of((t) => resize(t, options));
    expect(resized({ scales: 2, mode: "cubic" })).toThrow(
      expect.objectContaining({
        code: "MP_UNSUPPORTED",
        message: expect.stringContaining("nearest, linear"),
      }),
    );
    expect(resized({ scales: 2, coordinates: "tf_crop_and_resize" })).toThrow(
      expect.objectContaining({ code: "MP_UNSUPPORTED" }),
    );
    expect(resized({})).toThrow(/takes either sizes or scales/);
    expect(resized({ sizes: [3] })).toThrow(/sizes give each of \[3, 4\]/);
    expect(resized({ scales: 0.1 })).toThrow(/give each of .* elements, got/);
  });

  it("says what divides what", () => {
    expect(() => of((t) => depthToSpace(t, 2))).toThrow(/2² does not divide 2 channels/);
    expect(() => of((t) => spaceToDepth(t, 2))).toThrow(/blocks of 2 do not fill \[3, 4\]/);
    expect(() => of((t) => lrn(t, { size: 0 }))).toThrow(/size must be an integer ≥ 1/);
    const part = tensor(new Float32Array(2));
    const grouped = (numGroups: number) => () =>
      runTraced({ x, part }, (t) => ({ y: groupNormalization(t.x, t.part, t.part, { numGroups }) }));
    expect(grouped(3)).toThrow(/numGroups divides the 2 channels, got 3/);
    expect(grouped(2)).not.toThrow();
  });
});
