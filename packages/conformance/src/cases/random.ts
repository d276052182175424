/** Counter-based randomness has the same bits on every engine, by the definition in the paper. */
import { elementCount, type HostTensor, key, type Shape, tensor } from "@mp/graph";
import { setRandomCounter, squares32 } from "@mp/graph/internal";
import { randomBernoulli, randomNormal, randomUniform } from "@mp/graph/ops";
import { EXACT } from "../compare/allowance.js";
import type { ConformanceCase } from "../conformance-case.js";
import { buildGraph } from "../small-graphs.js";
import { traceGraph } from "../traced-graph.js";
import { graphCase } from "./kinds/graph-case.js";

const after = (drawn: number): HostTensor => tensor(Int32Array.of(drawn), []);

/** A case that compares random bits with Squares32 itself, not with the oracle's results. */
function bitsCase(
  behaviour: string,
  drawKey: bigint,
  drawn: readonly number[],
  length: number,
): ConformanceCase {
  return graphCase(`random/bits/${behaviour}`, () => {
    const graph = buildGraph({
      inputs: Object.fromEntries(drawn.map((_, index) => [`c${index}`, { dtype: "i32", shape: [] }])),
      outputs: (builder, inputs) =>
        Object.fromEntries(
          Object.entries(inputs).map(([name, counter]) => [
            `bits of ${name}`,
            builder.emitOne("RandomBits", [counter], { key: drawKey, shape: [length] }),
          ]),
        ),
    });
    const draw = (before: number): Int32Array<ArrayBuffer> =>
      Int32Array.from({ length }, (_, at) =>
        squares32(BigInt.asUintN(64, (BigInt(before) << 32n) + BigInt(at)), drawKey),
      );
    const want = drawn.map((before, index) => [`bits of c${index}`, tensor(draw(before), [length])] as const);
    return {
      graph,
      inputs: Object.fromEntries(drawn.map((before, index) => [`c${index}`, after(before)])),
      want: Object.fromEntries(want),
      allowance: () => EXACT,
    };
  });
}

const KEY = 0xd1342543de82ef95n;

/** Counts at which an engine's counter may run out of bits: half words, the integers that a float holds, words. */
const EDGES = [1, 2 ** 8, 2 ** 16, 2 ** 24, 2 ** 31] as const;
const LONG: readonly Shape[] = [[2 ** 17 + 77], [3, 43_777], [2 ** 16 + 1], [2 ** 20 + 5]];

/** Long draws with keys of 64 random bits and counters at or just before the edges, different for each shape. */
const longDraws = LONG.map((shape) => {
  const length = elementCount(shape, "random bits");
  return graphCase(`random/long/${length}-elements`, ({ random }) => {
    const word = (): bigint => BigInt(random.integer(0, 2 ** 32 - 1));
    const some = [0, 1].map(() => EDGES[random.integer(0, EDGES.length - 1)] as number);
    const drawn = (length < 2 ** 17 ? EDGES : some).map((edge) => (edge - random.integer(0, 1)) | 0);
    return {
      graph: buildGraph({
        inputs: Object.fromEntries(drawn.map((_, index) => [`c${index}`, { dtype: "i32", shape: [] }])),
        outputs: (builder, inputs) =>
          Object.fromEntries(
            Object.entries(inputs).map(([name, counter]) => [
              `bits of ${name}`,
              builder.emitOne("RandomBits", [counter], { key: (word() << 32n) | word() | 1n, shape }),
            ]),
          ),
      }),
      inputs: Object.fromEntries(drawn.map((before, index) => [`c${index}`, after(before)])),
      allowance: () => EXACT,
      describe: (name) => `${name} (after ${drawn.join(", ")})`,
    };
  });
});

export const randomCases: readonly ConformanceCase[] = [
  ...longDraws,
  bitsCase("are-squares32", KEY, [0, 1, 12_345], 200),
  bitsCase("of-a-training-steps-counters", KEY, [7, 1_000_000, 2 ** 31 - 2], 50),
  bitsCase("wrap-at-2-to-the-64", KEY, [-1, -(2 ** 31)], 6),
  bitsCase("of-odd-keys", 2n ** 64n - 1n, [0, 3], 20),
  graphCase("random/uniform/24-bits-below-1", () => ({
    graph: traceGraph({ counter: { dtype: "i32", shape: [] } }, ({ counter }) => {
      if (counter !== undefined) setRandomCounter(counter);
      const stream = key(7);
      // Two calls with one key draw two streams.
      return {
        first: randomUniform(stream, [40, 5]),
        second: randomUniform(stream, [40, 5]),
        one: randomUniform(stream, []),
      };
    }),
    inputs: { counter: after(3) },
    allowance: () => EXACT,
  })),
  graphCase("random/normal/the-same-bits", () => ({
    graph: traceGraph({ counter: { dtype: "i32", shape: [] } }, ({ counter }) => {
      if (counter !== undefined) setRandomCounter(counter);
      return { many: randomNormal(key(11), [70_000]), one: randomNormal(key(12), []) };
    }),
    inputs: { counter: after(9) },
    allowance: () => EXACT,
  })),
  graphCase("random/bernoulli/masks-agree", () => ({
    graph: traceGraph({ counter: { dtype: "i32", shape: [] } }, ({ counter }) => {
      if (counter !== undefined) setRandomCounter(counter);
      return {
        mask: randomBernoulli(key(1), 0.3, [1000]),
        none: randomBernoulli(key(2), 0, [50]),
        all: randomBernoulli(key(3), 1, [50]),
      };
    }),
    inputs: { counter: after(5) },
    allowance: () => EXACT,
  })),
];
