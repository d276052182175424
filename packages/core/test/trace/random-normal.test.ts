import { type HostTensor, key, type Tensor, tensor, traceInto } from "@mp/graph";
import { randomNormal } from "@mp/graph/ops";
import { evaluate } from "@mp/graph/reference";
import { beforeAll, describe, expect, it } from "vitest";
import { erf } from "../../../graph/src/reference/elements/erf.js";
import { LEVELS, normalTable, PIECES } from "../../../graph/src/trace/random/normal-table.js";
import { setRandomCounter } from "../../../graph/src/trace/random/random.js";
import { traceTrees } from "../../../graph/test/run-traced.js";
import { autocastGraph } from "../../src/cast/autocast-graph.js";
import { mixedFloat16Policy } from "../../src/cast/policy.js";

const CHUNK = 1_000_000;
const COUNT = 4 * CHUNK;

/** Four million numbers of one stream, in order of size. */
function drawn(): Float32Array {
  const after = (drawn: number): HostTensor => tensor(Int32Array.of(drawn), []);
  const draw = traceTrees(after(0), (drawn) => {
    setRandomCounter(drawn as Tensor);
    return randomNormal(key(20), [CHUNK]);
  });
  const numbers = new Float32Array(COUNT);
  for (let chunk = 0; chunk * CHUNK < COUNT; chunk++)
    numbers.set((draw(after(chunk)) as HostTensor).data as Float32Array, chunk * CHUNK);
  return numbers.sort();
}

const below = (z: number): number => (1 + erf(z / Math.SQRT2)) / 2;

describe("randomNormal", () => {
  let numbers: Float32Array = new Float32Array();
  beforeAll(() => {
    numbers = drawn();
  });

  it("has the moments of the normal distribution", () => {
    const moment = (power: number): number => numbers.reduce((sum, z) => sum + z ** power, 0) / COUNT;
    // The deviation of the mean of z^k is the root of E z^2k - (E z^k)^2 over the count; the limit is four of them.
    for (const [power, want, variance] of [
      [1, 0, 1],
      [2, 1, 2],
      [3, 0, 15],
      [4, 3, 96],
      [6, 15, 10_170],
    ] as const)
      expect(Math.abs(moment(power) - want), `of z^${power}`).toBeLessThan(4 * Math.sqrt(variance / COUNT));
  });

  it("has its distribution function, by Kolmogorov and Smirnov", () => {
    let distance = 0;
    numbers.forEach((z, at) => {
      const want = below(z);
      distance = Math.max(distance, want - at / COUNT, (at + 1) / COUNT - want);
    });
    // A larger distance is seen once in a hundred draws.
    expect(distance * Math.sqrt(COUNT)).toBeLessThan(1.63);
  });

  it("has its tails, to 5.5 deviations on both sides", () => {
    for (let z = 1; z <= 5.5; z += 0.25) {
      const want = COUNT * below(-z);
      const low = numbers.findIndex((x) => x >= -z);
      const high = COUNT - 1 - numbers.findLastIndex((x) => x <= z);
      for (const [side, count] of [
        ["below", low],
        ["above", high],
      ] as const)
        expect(Math.abs(count - want), `${count} ${side} ${z}, want ${want}`).toBeLessThan(
          4 * Math.sqrt(want) + 1,
        );
    }
    expect(Math.abs(numbers[0] as number)).toBeGreaterThan(4.8);
  });
});

it("draws the same numbers under a policy of halves", () => {
  const { graph } = traceInto([], () => ({ noise: randomNormal(key(3), [500]) }));
  expect(evaluate(autocastGraph(graph, mixedFloat16Policy), {})).toEqual(evaluate(graph, {}));
});

describe("its table", () => {
  const { starts, slopes } = normalTable();
  const used = LEVELS.flatMap((level, index) =>
    Array.from({ length: PIECES }, (_, piece) => ({ ...level, piece, row: index * PIECES + piece })).slice(
      index === 0 ? 0 : 16,
    ),
  );

  it("has slopes whose products with places are exact in f32", () => {
    for (const { places, row } of used)
      expect(significantBits(slopes[row] as number) + Math.log2(places)).toBeLessThanOrEqual(24);
  });

  it("falls from piece to piece, and is the inverse of the distribution at their ends", () => {
    for (const { integers, piece, row } of used) {
      const [start, slope] = [starts[row] as number, slopes[row] as number];
      expect(slope).toBeLessThan(0);
      const p = (piece * integers) / 2 ** 31;
      if (p > 0) expect(Math.abs(below(slope / 2 - start) - p)).toBeLessThan(4e-6);
    }
  });

  it.each([2, 3, 4, 5, 5.5])(
    "gives as many integers a number above %f as the distribution has there",
    (z) => {
      let count = 0;
      for (const { integers, places, row } of used)
        for (let place = 0; place < places; place++)
          if ((starts[row] as number) + (slopes[row] as number) * place > z) count += integers / places;
      const want = 2 ** 31 * below(-z);
      expect(Math.abs(count - want)).toBeLessThan(1e-4 * want + 1);
    },
  );
});

/** The bits from the first 1 to the last. */
function significantBits(x: number): number {
  let whole = Math.abs(x);
  while (!Number.isInteger(whole)) whole *= 2;
  while (whole % 2 === 0) whole /= 2;
  return Math.floor(Math.log2(whole)) + 1;
}
