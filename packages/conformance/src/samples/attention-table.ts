/** Attention: masks and heads, and numbers of queries, keys, sizes and batches beyond 1 000, 4 096 and 65 536. */
import {
  type DType,
  type HostTensor,
  type OpAttributes,
  type OpOf,
  type Shape,
  type Tensor,
  tensor,
} from "@mp/graph";
import * as ops from "@mp/graph/ops";
import { type Draws, generate, hostData, randomData } from "../host-data.js";
import type { RandomSource } from "../random-source.js";
import { choices, cube } from "./axis-data.js";
import { gradient, spread, twice } from "./gradient-sample.js";
import type { OpTable } from "./op-row.js";
import { exact, type OpSample, positives, sample } from "./op-sample.js";
import { setting } from "./setting.js";
import { natural, smooth } from "./size-data.js";
import { formAt, lengths } from "./tail-data.js";

const NEVER = Number.NEGATIVE_INFINITY;

type Shapes = readonly [query: Shape, key: Shape, valueSize: number];

const EQUAL_HEADS: Shapes = [[2, 3, 4, 5], [2, 3, 6, 5], 2];

const GROUPED_HEADS: Shapes = [[2, 6, 3, 4], [2, 2, 5, 4], 3];

/** A mask in which every third row attends to all keys, and the others to the last key and some more. */
const boolMask = (shape: Shape): HostTensor => {
  const keys = shape.at(-1) ?? 1;
  return generate("bool", shape, (at) => {
    const [row, key] = [Math.floor(at / keys), at % keys];
    return row % 3 === 0 ? 1 : key === keys - 1 || (at * 7) % 5 < 2 ? 1 : 0;
  });
};

/** A mask of numbers to add, some of them -∞, but not all in any row. */
const additiveMask = (dtype: DType, shape: Shape): HostTensor =>
  generate(dtype, shape, (at) => (at % 5 === 3 ? NEVER : ((at * 3) % 8) / 4 - 1));

/** A mask of 3 rows and 5 keys, whose second row attends to nothing. */
const emptyRow = [1, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1];

type Sizes = readonly [time: number, keys: number, size: number, valueSize: number];

/** Sizes of which one is long, each in turn, and sizes of which three are long. */
const LONG: readonly ((length: number) => Sizes)[] = [
  (n) => [2, n, 3, 2],
  (n) => [n, 3, 2, 2],
  (n) => [2, 3, n, 2],
  (n) => [2, 3, 2, n],
  (n) => [Math.ceil(n / 2), n, 5, Math.ceil(n / 3)],
];

const largeSample = (
  query: Shape,
  key: Shape,
  attributes: Partial<OpAttributes["Attention"]> = {},
  mask: readonly Shape[] = [],
) =>
  sample<"Attention">(
    { scale: 0.5, isCausal: false, softcap: 0, ...attributes },
    smooth(query),
    smooth(key),
    natural([...key.slice(0, 3), 2]),
    ...mask.map((shape) => generate("bool", shape, (at) => (at % 3 === 1 ? 0 : 1))),
  );

/** Gives 2^15 of the keys equal probabilities and the others 0, so that every sum is exact. */
function manyKeys() {
  const key = generate("f32", [1, 1, 66_002, 1], (at) => (at % 2 === 0 && at < 65_536 ? 0 : -200));
  return exact<"Attention">(
    { scale: 1, isCausal: false, softcap: 0 },
    generate("f32", [1, 1, 2, 1], () => 1),
    key,
    natural([1, 1, 66_002, 2]),
  );
}

const SIDES = [2, 3, 4];

/** Shapes of masks for n batches, heads, queries and keys. */
const masks = (n: number): readonly Shape[] => [
  [n, n],
  [1, n],
  [n, n, n],
  [n, 1, n],
  [1, n, n],
  [1, 1, n],
  [n, n, n, n],
  ...choices([0, 1, 2]).map((ones) => cube(n, 4).map((side, axis) => (ones.includes(axis) ? 1 : side))),
];

type Mask = "none" | "bool" | "bool-of-each-head" | "f32" | "own" | "one-row";

/** Draws a mask that lets every row attend to the first key, so that no row is empty, even with `isCausal`. */
function drawMask(
  kind: Mask,
  dtype: DType,
  [batch, heads, time, keys]: readonly [number, number, number, number],
  random: RandomSource,
): readonly HostTensor[] {
  if (kind === "none") return [];
  const shape: Shape =
    kind === "bool-of-each-head"
      ? [batch, heads, time, keys]
      : kind === "one-row"
        ? [batch, 1, 1, keys]
        : [time, keys];
  const isAdded = kind === "f32" || kind === "own";
  const draw = (at: number): number => {
    const isOpen = at % keys === 0 || random.next() < 0.6;
    if (isAdded) return isOpen ? random.integer(-4, 4) / 4 : NEVER;
    return isOpen ? 1 : 0;
  };
  return [generate(kind === "f32" ? "f32" : isAdded ? dtype : "bool", shape, draw)];
}

const boolTensor = (shape: Shape, ...data: readonly number[]) =>
  ops.constant(tensor(Uint8Array.from(data), shape, "bool"));

const attentionWith =
  (options: ops.AttentionOptions = {}) =>
  (query: Tensor, key: Tensor, value: Tensor): Tensor =>
    ops.attention(query, key, value, options);

const EQUAL_POINTS = [spread([1, 2, 3, 2]), spread([1, 2, 4, 2], 1), spread([1, 2, 4, 3], 2)] as const;

const GROUPED_POINTS = [spread([2, 4, 2, 3]), spread([2, 2, 3, 3], 1), spread([2, 2, 3, 2], 2)] as const;

const forward: OpTable<"Attention"> = {
  Attention: {
    samples: (draws: Draws) => {
      const one = (
        [query, key, valueSize]: Shapes,
        attributes: Partial<OpAttributes["Attention"]> = {},
        ...mask: readonly HostTensor[]
      ): OpSample<"Attention"> =>
        sample(
          { scale: 0.5, isCausal: false, softcap: 0, ...attributes },
          randomData(draws, query, -2, 2),
          randomData(draws, key, -2, 2),
          positives(draws, [...key.slice(0, 3), valueSize]),
          ...mask,
        );
      const rows = hostData("bool", emptyRow, [3, 5]);
      const additiveRows = (of: DType): HostTensor =>
        hostData(
          of,
          emptyRow.map((x) => (x === 0 ? NEVER : 0.5)),
          [3, 5],
        );
      const square: Shapes = [[1, 2, 4, 3], [1, 2, 4, 3], 3];
      return {
        values: [
          one(EQUAL_HEADS),
          one([[1, 1, 1, 1], [1, 1, 1, 1], 1]),
          one([[1, 1, 3, 8], [1, 1, 1, 8], 4]),
          one([[1, 2, 17, 33], [1, 2, 65, 33], 9]),
          one(GROUPED_HEADS),
          one([[1, 3, 2, 4], [1, 1, 5, 4], 3]),
        ],
        "the-scale": [
          one(EQUAL_HEADS, { scale: 0.125 }),
          one(EQUAL_HEADS, { scale: 1.7 }),
          one(GROUPED_HEADS, { scale: 0.3 }),
        ],
        "the-softcap": [
          one(EQUAL_HEADS, { softcap: 1.5 }),
          one(GROUPED_HEADS, { softcap: 20 }, boolMask([3, 5])),
          one(GROUPED_HEADS, { softcap: 0.5 }, additiveMask("f32", [3, 5])),
        ],
        // Query i attends to keys 0 … i, also where there are more keys than queries or fewer.
        causal: [
          one(square, { isCausal: true }),
          one([[1, 2, 3, 4], [1, 2, 6, 4], 2], { isCausal: true }),
          one([[1, 2, 6, 4], [1, 2, 3, 4], 2], { isCausal: true }),
          one(GROUPED_HEADS, { isCausal: true }),
        ],
        masks: [
          one(EQUAL_HEADS, {}, boolMask([4, 6])),
          one(EQUAL_HEADS, {}, boolMask([2, 1, 1, 6])),
          one(EQUAL_HEADS, {}, boolMask([3, 1, 6])),
          one(EQUAL_HEADS, {}, boolMask([2, 3, 4, 6])),
          one(GROUPED_HEADS, {}, boolMask([6, 3, 5])),
          one(
            GROUPED_HEADS,
            { isCausal: true },
            generate("bool", [2, 1, 3, 5], (at) => (at % 5 === 1 ? 0 : 1)),
          ),
        ],
        "added-masks": ["f32" as const, draws.dtype].flatMap((of) => [
          one(EQUAL_HEADS, {}, additiveMask(of, [4, 6])),
          one(EQUAL_HEADS, {}, additiveMask(of, [2, 1, 1, 6])),
          one(GROUPED_HEADS, {}, additiveMask(of, [2, 6, 3, 5])),
          one(GROUPED_HEADS, { isCausal: true }, additiveMask(of, [6, 1, 5])),
        ]),
        // The result of such a query is 0, as in ONNX 1.23 and PyTorch.
        "a-query-that-attends-to-nothing": [
          one(GROUPED_HEADS, {}, rows),
          one(GROUPED_HEADS, { isCausal: true }, hostData("bool", [0, 0, 1, 1, 1], [1, 5])),
          one(GROUPED_HEADS, {}, additiveRows("f32")),
          one(GROUPED_HEADS, {}, additiveRows(draws.dtype)),
          one(GROUPED_HEADS, { softcap: 2 }, hostData("bool", new Array<number>(30).fill(0), [6, 1, 5])),
        ],
        // The exponentials of these scores are infinite, so the softmax has to subtract the largest score.
        "nothing-overflows-on-the-way": [
          sample(
            { scale: 1, isCausal: false, softcap: 0 },
            hostData(draws.dtype, [20, -20], [1, 1, 2, 1]),
            hostData(draws.dtype, [20, 19.5, -20], [1, 1, 3, 1]),
            hostData(draws.dtype, [1, 2, 4], [1, 1, 3, 1]),
          ),
        ],
        // Scores that need more bits than a half dtype has.
        "scores-are-not-rounded": [
          sample(
            { scale: 1, isCausal: false, softcap: 0 },
            generate(draws.dtype, [1, 1, 2, 64], (at) => (at < 64 ? 2 : -2)),
            generate(draws.dtype, [1, 1, 3, 64], (at) =>
              at % 64 === 0 ? 3.25 + Math.floor(at / 64) / 32 : 1,
            ),
            hostData(draws.dtype, [1, 2, 4], [1, 1, 3, 1]),
          ),
        ],
        // Differences of two probabilities, due to scores or a mask; in a half dtype, these lose most bits or are 0.
        "shares-and-masks-are-not-rounded": [
          sample(
            { scale: 1, isCausal: false, softcap: 0 },
            generate(draws.dtype, [1, 1, 8, 1], (at) => (at + 1) / 80),
            hostData(draws.dtype, [1, -1], [1, 1, 2, 1]),
            hostData(draws.dtype, [256, -256], [1, 1, 2, 1]),
          ),
          sample(
            { scale: 1, isCausal: false, softcap: 0 },
            generate(draws.dtype, [1, 1, 8, 1], () => 0),
            hostData(draws.dtype, [1, -1], [1, 1, 2, 1]),
            hostData(draws.dtype, [256, -256], [1, 1, 2, 1]),
            generate("f32", [8, 2], (at) => (at % 2 === 0 ? 0.75 + (at + 2.3) / 250 : 0.75)),
          ),
        ],
        "no-elements": [
          one([[0, 2, 3, 4], [0, 2, 5, 4], 2]),
          one([[1, 2, 0, 4], [1, 2, 5, 4], 2], { isCausal: true }),
          one([[1, 2, 3, 4], [1, 2, 0, 4], 2]),
          one([[1, 2, 3, 4], [1, 2, 0, 4], 2], {}, hostData("bool", [], [3, 0])),
          one([[1, 2, 3, 0], [1, 2, 5, 0], 2]),
          one([[1, 2, 3, 4], [1, 2, 5, 4], 0]),
          one([[1, 0, 3, 4], [1, 0, 5, 4], 2]),
        ],
        "nan-in-a-row": [
          sample(
            { scale: 1, isCausal: false, softcap: 0 },
            hostData(draws.dtype, [1, Number.NaN, 2], [1, 1, 3, 1]),
            hostData(draws.dtype, [1, 2], [1, 1, 2, 1]),
            hostData(draws.dtype, [1, 2], [1, 1, 2, 1]),
          ),
        ],
      };
    },
    tails: (draws) =>
      lengths(draws.dtype).map((length) => {
        const [time, keys, size, valueSize] = formAt(LONG, length)(length);
        const heads = 1 + (length % 2);
        const mask: Shape = [time, keys];
        return sample(
          { scale: 0.5, isCausal: length % 4 === 0, softcap: 0 },
          randomData(draws, [1, heads, time, size], -2, 2),
          randomData(draws, [1, 1, keys, size], -2, 2),
          positives(draws, [1, 1, keys, valueSize]),
          // The mask never hides the first key, so that every query attends to something.
          ...(length % 3 === 0
            ? [generate("bool", mask, (at) => (at % keys === 0 ? 1 : draws.random.integer(0, 1)))]
            : []),
        );
      }),
    sizes: () => [
      largeSample([1, 1, 4_133, 2], [1, 1, 18, 2], { isCausal: true }),
      largeSample([1, 1, 18, 2], [1, 1, 4_133, 2], {}, [[18, 4_133]]),
      manyKeys(),
      largeSample([1, 2, 3, 1_031], [1, 2, 5, 1_031]),
      largeSample([1, 4_134, 2, 3], [1, 2_067, 3, 3], {}, [[1, 4_134, 2, 3]]),
      largeSample([4_133, 2, 3, 2], [4_133, 1, 3, 2], { isCausal: true }),
      largeSample([1, 1, 263, 3], [1, 1, 263, 3], { isCausal: true }, [[263, 263]]),
    ],
    sides: (draws) =>
      SIDES.flatMap((n) => {
        const of = (heads: number, isCausal: boolean, mask?: Shape, isAdded = false) => {
          const parts = [
            randomData(draws, cube(n, 4), -2, 2),
            randomData(draws, [n, heads, n, n], -2, 2),
            positives(draws, [n, heads, n, n]),
          ];
          const attributes = { scale: 0.5, isCausal, softcap: 0 };
          if (mask === undefined) return sample<"Attention">(attributes, ...parts);
          // The mask never hides the first key, so that every query attends to something.
          const bits = generate("bool", mask, (at) => (at % n === 0 ? 1 : draws.random.integer(0, 1)));
          const sums = Array.from(bits.data as Uint8Array, (bit) =>
            bit === 0 ? Number.NEGATIVE_INFINITY : draws.random.between(-2, 2),
          );
          return sample<"Attention">(attributes, ...parts, isAdded ? hostData("f32", sums, mask) : bits);
        };
        return [
          of(n, false),
          of(n, true),
          of(1, false),
          ...(n === 4 ? [of(2, false), of(2, true, [4, 4])] : []),
          ...masks(n).flatMap((mask, at) =>
            n === 3 || at % 3 === 0 ? [of(n, at % 5 === 4, mask, at % 2 === 1)] : [],
          ),
        ];
      }),
    options: (dtype) => [
      setting(
        "Attention",
        { scale: [0.5, 1, 0.1], isCausal: [false, true], softcap: [0, 1.5, 0.3] },
        {
          mask: ["none", "bool", "bool-of-each-head", "f32", "own", "one-row"],
          heads: [2, 1, 4],
          keys: [4, 6, 3],
          valueSize: [3, 2],
        },
        (attributes, { mask, heads, keys, valueSize }, draws) => {
          // With four query heads, every two share a key head.
          const [batch, time, size, keyHeads] = [2, 4, 3, heads === 4 ? 2 : heads];
          return sample(
            attributes,
            randomData(draws, [batch, heads, time, size], -2, 2),
            randomData(draws, [batch, keyHeads, keys, size], -2, 2),
            positives(draws, [batch, keyHeads, keys, valueSize]),
            ...drawMask(mask, dtype, [batch, heads, time, keys], draws.random),
          );
        },
      ),
    ],
    gradients: twice([
      gradient("queries-keys-and-values", EQUAL_POINTS, attentionWith()),
      gradient("causal", EQUAL_POINTS, attentionWith({ isCausal: true, scale: 1.5 })),
      gradient("grouped-queries", GROUPED_POINTS, attentionWith()),
      gradient("a-softcap", EQUAL_POINTS, attentionWith({ softcap: 0.75 })),
      gradient("a-mask", EQUAL_POINTS, (query, key, value) =>
        ops.attention(query, key, value, { mask: boolTensor([3, 4], 1, 0, 1, 1, 0, 1, 0, 0, 1, 1, 1, 0) }),
      ),
      // Another query attends to two keys. If each attended to one at most, all query gradients would be 0, and no error
      // would be allowed in them.
      gradient("a-query-that-attends-to-nothing", GROUPED_POINTS, (query, key, value) =>
        ops.attention(query, key, value, {
          mask: boolTensor([2, 1, 1, 3], 0, 1, 1, 1, 1, 0),
          isCausal: true,
        }),
      ),
      gradient("an-added-mask", [...GROUPED_POINTS, spread([4, 1, 3], 3)], (query, key, value, mask) =>
        ops.attention(query, key, value, { isCausal: true, mask }),
      ),
    ]),
  },
};

/** Turns a sample of Attention into a sample of its gradient, whose operands begin with the gradient of the result. */
const backward = ({ attributes, inputs }: OpSample<"Attention">): OpSample<"AttentionGradient"> => {
  const [query, , value] = inputs as readonly [HostTensor, HostTensor, HostTensor];
  const shape = [...query.shape.slice(0, 3), value.shape[3] ?? 0];
  return sample(
    attributes,
    generate(query.dtype, shape, (at) => ((at * 5) % 9) / 4 - 1),
    ...inputs,
  );
};

export const attentionTable: OpTable<OpOf<"attention">> = {
  ...forward,
  AttentionGradient: {
    samples: (draws) =>
      Object.fromEntries(
        Object.entries(forward.Attention.samples(draws)).map(([name, samples]) => [
          name,
          samples.map(backward),
        ]),
      ),
    tails: (draws) => forward.Attention.tails(draws).map(backward),
    sizes: () => forward.Attention.sizes().map(backward),
    sides: (draws) => forward.Attention.sides(draws).map(backward),
    options: (dtype) =>
      forward.Attention.options(dtype).map((setting) => ({
        ...setting,
        sample: (chosen, draws) => {
          const made = setting.sample(chosen, draws);
          return made && backward(made);
        },
      })),
    gradients: { none: "is the gradient of Attention, which is differentiated twice" },
  },
};
