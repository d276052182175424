/** Counter-based randomness: the same bits on every engine, from the paper's definition. */
import { key, type Shape, tensor } from "@mp/core";
import { elementCount } from "@mp/core/graph";
import { setRandomCounter, squares32 } from "@mp/core/internal";
import { randomBernoulli, randomNormal, randomUniform } from "@mp/core/ops";
import { EXACT } from "../compare/allowance.js";
import type { ConformanceCase } from "../conformance-case.js";
import { graphOf } from "../small-graphs.js";
import { tracedGraph } from "../traced-graph.js";
import { graphCase } from "./kinds/graph-case.js";

/** Squares32 itself, not as the oracle computes it. */
function bitsCase(
  behaviour: string,
  drawKey: bigint,
  counters: readonly bigint[],
  length: number,
): ConformanceCase {
  return graphCase(`random/bits/${behaviour}`, () => {
    const graph = graphOf({
      inputs: Object.fromEntries(counters.map((_, index) => [`c${index}`, { dtype: "u64", shape: [] }])),
      outputs: (builder, inputs) =>
        Object.fromEntries(
          Object.entries(inputs).map(([name, counter]) => [
            `bits of ${name}`,
            builder.emitOne("RandomBits", [counter], { key: drawKey, shape: [length] }),
          ]),
        ),
    });
    const draw = (counter: bigint): bigint[] =>
      Array.from({ length }, (_, at) => BigInt(squares32(BigInt.asUintN(64, counter + BigInt(at)), drawKey)));
    const want = counters.map(
      (counter, index) =>
        [`bits of c${index}`, tensor(BigUint64Array.from(draw(counter)), [length], "u64")] as const,
    );
    return {
      graph,
      inputs: Object.fromEntries(
        counters.map((counter, index) => [`c${index}`, tensor(BigUint64Array.of(counter), [], "u64")]),
      ),
      want: Object.fromEntries(want),
      allowance: () => EXACT,
    };
  });
}

const KEY = 0xd1342543de82ef95n;

/** Numbers at which a counter of an engine may run out of bits: half words, words, whole numbers of a float. */
const EDGES = [2n ** 16n, 2n ** 24n, 2n ** 32n, 2n ** 48n, 2n ** 53n, 2n ** 63n, 2n ** 64n] as const;
const LONG: readonly Shape[] = [[2 ** 17 + 77], [3, 43_777], [2 ** 16 + 1], [2 ** 20 + 5]];

/** Long draws with keys of 64 random bits, at counters whose carries fall inside them. Each shape has its own counters. */
const longDraws = LONG.map((shape) => {
  const length = elementCount(shape, "random bits");
  return graphCase(`random/long/${length}-elements`, ({ random }) => {
    const word = (): bigint => BigInt(random.integer(0, 2 ** 32 - 1));
    const some = [0, 1].map(() => EDGES[random.integer(0, EDGES.length - 1)] as bigint);
    const counters = (length < 2 ** 17 ? EDGES : some).map((edge) =>
      BigInt.asUintN(64, edge - BigInt(random.integer(1, length - 1))),
    );
    return {
      graph: graphOf({
        inputs: Object.fromEntries(counters.map((_, index) => [`c${index}`, { dtype: "u64", shape: [] }])),
        outputs: (builder, inputs) =>
          Object.fromEntries(
            Object.entries(inputs).map(([name, counter]) => [
              `bits of ${name}`,
              builder.emitOne("RandomBits", [counter], { key: (word() << 32n) | word() | 1n, shape }),
            ]),
          ),
      }),
      inputs: Object.fromEntries(
        counters.map((counter, index) => [`c${index}`, tensor(BigUint64Array.of(counter), [], "u64")]),
      ),
      allowance: () => EXACT,
      describe: (name) => `${name} (counters ${counters.join(", ")})`,
    };
  });
});

export const randomCases: readonly ConformanceCase[] = [
  ...longDraws,
  bitsCase("are-squares32", KEY, [0n, 1n, 12_345n], 200),
  bitsCase("of-a-training-steps-counters", KEY, [2n ** 32n, 7n * 2n ** 32n, 1_000_000n * 2n ** 32n], 50),
  bitsCase("wrap-at-2-to-the-64", KEY, [2n ** 64n - 3n, 2n ** 63n - 2n], 6),
  bitsCase("of-odd-keys", 2n ** 64n - 1n, [0n, 2n ** 33n + 1n], 20),
  graphCase("random/uniform/24-bits-below-1", () => ({
    graph: tracedGraph({ counter: { dtype: "u64", shape: [] } }, ({ counter }) => {
      if (counter !== undefined) setRandomCounter(counter);
      const stream = key(7);
      // Two calls with one key draw two streams.
      return {
        first: randomUniform(stream, [40, 5]),
        second: randomUniform(stream, [40, 5]),
        one: randomUniform(stream, []),
      };
    }),
    inputs: { counter: tensor(BigUint64Array.of(3n * 2n ** 32n), [], "u64") },
    allowance: () => EXACT,
  })),
  graphCase("random/normal/the-same-bits", () => ({
    graph: tracedGraph({ counter: { dtype: "u64", shape: [] } }, ({ counter }) => {
      if (counter !== undefined) setRandomCounter(counter);
      return { many: randomNormal(key(11), [70_000]), one: randomNormal(key(12), []) };
    }),
    inputs: { counter: tensor(BigUint64Array.of(9n * 2n ** 32n), [], "u64") },
    allowance: () => EXACT,
  })),
  graphCase("random/bernoulli/masks-agree", () => ({
    graph: tracedGraph({ counter: { dtype: "u64", shape: [] } }, ({ counter }) => {
      if (counter !== undefined) setRandomCounter(counter);
      return {
        mask: randomBernoulli(key(1), 0.3, [1000]),
        none: randomBernoulli(key(2), 0, [50]),
        all: randomBernoulli(key(3), 1, [50]),
      };
    }),
    inputs: { counter: tensor(BigUint64Array.of(5n), [], "u64") },
    allowance: () => EXACT,
  })),
];
