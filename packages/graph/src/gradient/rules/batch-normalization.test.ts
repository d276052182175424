import { describe, expect, it } from "vitest";
import {
  type GradientCase,
  gradientError,
  gradientSum,
  halfError,
  pointOf,
  titled,
} from "../../../test/finite-differences.js";
import { runTraced } from "../../../test/run-traced.js";
import { MpError } from "../../errors.js";
import { tensor } from "../../host/host-tensor.js";
import { batchNormalization, normalizeByStatistics } from "../../trace/ops/batch-normalization.js";
import { add, mul } from "../../trace/ops/binary.js";
import { reshape } from "../../trace/ops/movement.js";

const shapes = [
  [5, 3],
  [2, 3, 4],
  [3, 2, 2, 3],
  [1, 2, 5],
] as const;

const cases: readonly GradientCase[] = shapes.flatMap((shape): readonly GradientCase[] => {
  const points = [pointOf(shape, 1), pointOf([shape[1]], 2), pointOf([shape[1]], 3)];
  const options = { epsilon: 0.01 };
  return [
    {
      op: "BatchNormalization",
      name: `[${shape}]`,
      fn: (...[x, s, b]) => batchNormalization(x as never, s as never, b as never, options).y,
      points,
    },
    {
      op: "BatchNormalization",
      name: `[${shape}] with its statistics`,
      fn: (...[x, s, b]) => {
        const { y, mean, variance } = batchNormalization(x as never, s as never, b as never, options);
        return add(y, reshape(add(mul(mean, 2), variance), [shape[1], ...shape.slice(2).map(() => 1)]));
      },
      points,
    },
    {
      op: "BatchNormalization",
      name: `[${shape}] by statistics alone`,
      fn: (...[x, s, b]) => batchNormalization(x as never, s as never, b as never, options).variance,
      points,
    },
  ];
});

describe.each(titled(cases))("%s", (_, { fn, points }) => {
  it("agrees with finite differences", () => {
    expect(gradientError(fn, points)).toBeLessThan(2e-7);
  });
  it("stays in f16 and in bf16", () => {
    expect(halfError(fn, points, "f16")).toBeLessThan(2e-3);
    expect(halfError(fn, points, "bf16")).toBeLessThan(2e-2);
  });
});

it("refuses a second derivative with its reason", () => {
  const [{ fn, points }] = cases as readonly [GradientCase];
  expect(() => gradientError(gradientSum(fn), points)).toThrow(
    /second derivatives through batch normalization/,
  );
  expect(() => gradientError(gradientSum(fn), points)).toThrow(MpError);
});

it("given the statistics of the batch, normalizes as the batch does", () => {
  const x = tensor(
    Float32Array.from({ length: 24 }, (_, at) => Math.sin(at * 3 + 1)),
    [2, 3, 4],
  );
  const parts = { s: tensor(Float32Array.of(1, 2, 3)), b: tensor(Float32Array.of(-1, 0, 0.5)) };
  const { own, given } = runTraced({ x, ...parts }, ({ x, s, b }) => {
    const { y, ...statistics } = batchNormalization(x, s, b);
    return { own: y, given: normalizeByStatistics(x, s, b, statistics) };
  });
  const [a, b] = [own.data as Float32Array, given.data as Float32Array];
  const differences = Array.from(a, (y, at) => Math.abs(y - (b[at] ?? Number.NaN)));
  expect(Math.max(...differences)).toBeLessThan(1e-6);
});
