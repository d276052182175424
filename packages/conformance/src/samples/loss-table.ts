/** The likelihood losses. */
import {
  elementCount,
  type HostTensor,
  type LossReduction,
  type OpAttributes,
  type OpOf,
  type Shape,
} from "@mp/graph";
import * as ops from "@mp/graph/ops";
import { type Draws, generate, hostData, randomData } from "../host-data.js";
import type { RandomSource } from "../random-source.js";
import { cube } from "./axis-data.js";
import { farLoss } from "./far-rows.js";
import { gradient, indexTensor, spread, twice } from "./gradient-sample.js";
import type { GeneratedRow, OpTable, SizeRow } from "./op-row.js";
import { type OpSample, positives, type Sampled, sample } from "./op-sample.js";
import { type Options, setting } from "./setting.js";
import { ROWS, TALL, WIDE } from "./size-data.js";
import { formAt, lengths } from "./tail-data.js";

const anyLabels = (random: RandomSource, classes: number, shape: Shape): HostTensor =>
  generate("i32", shape, () => random.integer(0, classes - 1));

/** Samples with scores from `low` to `high`. NegativeLogLikelihoodLoss accepts any negative numbers. */
function lossValues<K extends OpOf<"loss">>(low: number, high: number): Sampled<K> {
  return (draws) => {
    const one = (
      attributes: OpAttributes[OpOf<"loss">],
      scores: Shape,
      { weighted = false, given }: { readonly weighted?: boolean; readonly given?: readonly number[] } = {},
    ): OpSample<K> => {
      const [batch = 0, classes = 0, ...rest] = scores;
      const shape = [batch, ...rest];
      const picked =
        given === undefined ? anyLabels(draws.random, classes, shape) : hostData("i32", given, shape);
      const weights = weighted ? [positives(draws, [classes])] : [];
      return sample(attributes as OpAttributes[K], randomData(draws, scores, low, high), picked, ...weights);
    };
    const reductions = ["mean", "sum", "none"] as const;
    return {
      values: reductions.flatMap((reduction) => [
        one({ reduction }, [4, 5]),
        one({ reduction }, [4, 5], { weighted: true }),
        one({ reduction }, [2, 3, 4]),
        one({ reduction }, [2, 3, 2, 2], { weighted: true }),
        one({ reduction }, [1, 1]),
      ]),
      // Labels that the half dtypes cannot hold: odd ones above 256 in bf16, above 2048 in f16.
      "many-classes": [
        sample(
          { reduction: "none" } as OpAttributes[K],
          farApart(draws, [4, 2100]),
          hostData("i32", [257, 299, 2049, 2099]),
        ),
      ],
      "ignored-labels": reductions.flatMap((reduction) => [
        one({ reduction, ignoreIndex: 2 }, [5, 4], { given: [0, 2, 3, 2, 1] }),
        one({ reduction, ignoreIndex: 2 }, [5, 4], { given: [0, 2, 3, 2, 1], weighted: true }),
        // An ignored label outside the classes, as text models use for padding.
        one({ reduction, ignoreIndex: -100 }, [5, 4], { given: [0, -100, 3, -100, 1] }),
      ]),
      "all-labels-ignored": reductions.map((reduction) =>
        one({ reduction, ignoreIndex: 1 }, [3, 2], { given: [1, 1, 1] }),
      ),
      "no-labels": reductions.flatMap((reduction) => [
        one({ reduction }, [0, 3]),
        one({ reduction }, [0, 3], { weighted: true }),
        one({ reduction, ignoreIndex: 1 }, [0, 3, 2]),
        one({ reduction }, [2, 3, 0]),
      ]),
      "non-finite-scores": [
        sample(
          { reduction: "none" } as OpAttributes[K],
          hostData(draws.dtype, [0, Number.NaN, 0, 0, -1, -2, -3, -1, -INFINITE], [3, 3]),
          hostData("i32", [0, 1, 0]),
        ),
      ],
    };
  };
}

const INFINITE: number = Number.POSITIVE_INFINITY;

/** Shapes with many classes or many labels; the last label is the last class. */
const TAIL_SCORES: readonly ((length: number) => Shape)[] = [
  (n) => [3, n],
  (n) => [n, 3],
  (n) => [2, n, 3],
  (n) => [2, 3, n],
  (n) => [2, 3, 2, n],
];

/**
 * Scores with one class so far above all others that their exponentials are negligible. The log-probabilities equal
 * these scores, which are whole numbers with exact sums.
 */
function farApart(draws: Draws, shape: Shape): HostTensor {
  const [, classes = 1, ...rest] = shape;
  const inner = elementCount(rest, "test data");
  return generate(draws.dtype, shape, (at) =>
    Math.floor(at / inner) % classes === 0 ? 0 : -100 - 4 * draws.random.integer(0, 30),
  );
}

const quarters = (draws: Draws, shape: Shape): HostTensor =>
  generate(draws.dtype, shape, () => draws.random.integer(1, 5) / 4);

const REDUCTIONS = ["none", "mean", "sum"] as const;

function lossTail<K extends OpOf<"loss">>(low: number, high: number): GeneratedRow<K> {
  return (draws) =>
    lengths(draws.dtype).flatMap((length) =>
      [[3, length], formAt(TAIL_SCORES, length)(length)].map((shape, at) => {
        const [batch = 1, classes = 1, ...rest] = shape;
        const places = [batch, ...rest];
        const last = elementCount(places, "test data") - 1;
        const labels = generate("i32", places, (place) =>
          place === last ? classes - 1 : draws.random.integer(0, classes - 1),
        );
        const weights = at === 0 ? [] : [quarters(draws, [classes])];
        const scores = at === 0 ? randomData(draws, shape, low, high) : farApart(draws, shape);
        const attributes = { reduction: formAt(REDUCTIONS, length + at) } as OpAttributes[K];
        return sample<K>(attributes, scores, labels, ...weights);
      }),
    );
}

/** Scores with one 0 in every row, far above the others. */
const peakRows = (shape: Shape): HostTensor => {
  const classes = shape[1] ?? 1;
  return generate("f32", shape, (at) => {
    const [row, place] = [Math.floor(at / classes), at % classes];
    return place === (row * 7) % classes ? 0 : -200 + (place % 3);
  });
};

const manyLabels = (count: number, classes: number): HostTensor =>
  generate("i32", [count], (at) => (at * 11) % classes);

/** Samples of large losses, with the reductions whose sums are exact. */
function lossSizes<K extends OpOf<"loss">>(
  make: (shape: Shape) => HostTensor,
  reductions: readonly LossReduction[],
): SizeRow<K> {
  const samples = () =>
    [TALL, WIDE, ROWS].flatMap((shape) => {
      const [count = 0, classes = 0] = shape;
      return reductions.map((reduction) =>
        sample<OpOf<"loss">>({ reduction }, make(shape), manyLabels(count, classes)),
      );
    });
  return samples as unknown as SizeRow<K>;
}

const negative = (shape: Shape): HostTensor => generate("f32", shape, (at) => -1 - (at % 7));

const lossSides =
  <K extends OpOf<"loss">>(low: number, high: number): GeneratedRow<K> =>
  (draws) =>
    [2, 3, 4].flatMap((n) =>
      [2, 3, 4].flatMap((rank) =>
        REDUCTIONS.map((reduction) => {
          const labels = generate("i32", cube(n, rank - 1), () => draws.random.integer(0, n - 1));
          const ignored = reduction === "mean" ? { ignoreIndex: -100 } : {};
          return sample<K>(
            { reduction, ...ignored } as OpAttributes[K],
            randomData(draws, cube(n, rank), low, high),
            labels,
            ...(rank === 3 ? [] : [positives(draws, [n])]),
          );
        }).filter((_, at) => rank < 4 || at === 0),
      ),
    );

const SCORES: readonly Shape[] = [[6, 5], [4, 5, 3], [2, 5, 3, 2], [2, 5, 2, 1, 3]]; // biome-ignore format: one line

/** Every option; the ignored label may be any class, the first one, or no class. */
function lossOptions<K extends OpOf<"loss">>(op: K, low: number, high: number): Options<K> {
  return (dtype) => [
    setting<OpOf<"loss">, { readonly scores: readonly Shape[]; readonly weighted: readonly boolean[] }>(
      op,
      { reduction: ["mean", "sum", "none"], ignoreIndex: [undefined, 0, 1, 4, -100, -1, 5] },
      { scores: SCORES, weighted: [false, true] },
      (attributes, { scores, weighted }, draws) => {
        const [batch = 1, classes = 1, ...rest] = scores;
        const { ignoreIndex = 0 } = attributes;
        const labels = generate("i32", [batch, ...rest], (at) =>
          at % 3 === 1 ? ignoreIndex : draws.random.integer(0, classes - 1),
        );
        // Sums of weighted likelihoods are exact in any order.
        const weights = weighted ? [generate(dtype, [classes], () => 2 ** draws.random.integer(-1, 2))] : [];
        return sample<OpOf<"loss">>(
          attributes,
          generate(dtype, scores, () => draws.random.integer(8 * low, 8 * high) / 8),
          labels,
          ...weights,
        );
      },
    ) as never,
  ];
}

export const lossTable: OpTable<OpOf<"loss">> = {
  SoftmaxCrossEntropyLoss: {
    samples: lossValues(-4, 4),
    tails: lossTail(-4, 4),
    sizes: lossSizes(peakRows, ["none"]),
    sides: lossSides(-4, 4),
    options: lossOptions("SoftmaxCrossEntropyLoss", -4, 4),
    gradients: twice([
      gradient("mean", [spread([3, 5])], (x) => ops.softmaxCrossEntropyLoss(x, indexTensor([1, 4, 0]))),
      gradient("ignored-labels", [spread([3, 5])], (x) =>
        ops.softmaxCrossEntropyLoss(x, indexTensor([1, -100, 0]), { ignoreIndex: -100 }),
      ),
      gradient("unreduced", [spread([2, 3, 2])], (x) =>
        ops.softmaxCrossEntropyLoss(x, indexTensor([1, 0, 2, 2], [2, 2]), { reduction: "none" }),
      ),
      gradient("ignored-labels-of-images", [spread([2, 3, 2, 2])], (x) =>
        ops.softmaxCrossEntropyLoss(x, indexTensor([1, -1, 2, 2, 0, -1, 1, 1], [2, 2, 2]), {
          ignoreIndex: -1,
        }),
      ),
    ]),
    rare: [farLoss()],
  },
  NegativeLogLikelihoodLoss: {
    samples: lossValues(-4, -0.1),
    tails: lossTail(-4, -0.1),
    sizes: lossSizes(negative, ["none", "sum", "mean"]),
    sides: lossSides(-4, -0.1),
    options: lossOptions("NegativeLogLikelihoodLoss", -4, -1),
    gradients: [
      gradient("mean", [spread([3, 5])], (x) => ops.negativeLogLikelihoodLoss(x, indexTensor([1, 4, 0]))),
      gradient("sum", [spread([3, 5])], (x) =>
        ops.negativeLogLikelihoodLoss(x, indexTensor([1, 4, 0]), { reduction: "sum" }),
      ),
      gradient("of-images", [spread([2, 3, 2, 2])], (x) =>
        ops.negativeLogLikelihoodLoss(x, indexTensor([1, 0, 2, 2, 0, 0, 1, 1], [2, 2, 2])),
      ),
      gradient("ignored-labels-of-images", [spread([2, 3, 2, 2])], (x) =>
        ops.negativeLogLikelihoodLoss(x, indexTensor([1, -1, 2, 2, 0, -1, 1, 1], [2, 2, 2]), {
          ignoreIndex: -1,
        }),
      ),
    ],
    rare: [farLoss()],
  },
};
