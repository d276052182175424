import { type LossContext, type Tensor, type Traced, type Trainer, tensor } from "@mp/core";
import { argMax } from "@mp/core/ops";
import { bleu } from "./bleu.js";
import type { Pair } from "./language/grammar.js";
import { BEGIN, encodePairs, type ParallelText } from "./parallel-text.js";
import type { TracedPairs, transformer } from "./transformer.js";

type Model = ReturnType<typeof transformer>;
type Weights = ReturnType<Model["init"]>;
type Seen = Pick<TracedPairs, "source" | "seen">;

export interface Judgment {
  /** BLEU, 0 … 100. */
  readonly bleu: number;
  /** Fraction of the sentences whose translation is the reference, word for word. */
  readonly exactMatch: number;
  readonly examples: readonly string[];
}

/** Translates the test sentences greedily, the likeliest word at each place, and compares with their references. */
export async function judge(
  training: Trainer<Weights, TracedPairs, Readonly<Record<never, never>>>,
  model: Model,
  text: ParallelText,
  batch: number,
): Promise<Judgment> {
  // One function object, so that it is compiled once.
  const likeliest = (weights: Traced<Weights>, seen: Seen, context: LossContext): Tensor =>
    argMax(model.logits(weights, seen, context), { axis: 2 });
  const judged: { readonly translation: readonly string[]; readonly reference: readonly string[] }[] = [];
  for (let start = 0; start < text.test.length; start += batch) {
    const pairs = text.test.slice(start, start + batch);
    const ids = await greedy(fillBatch(pairs, batch), text, (seen) => training.predict(likeliest, seen));
    for (const [row, { target }] of pairs.entries())
      judged.push({ translation: text.target.decode(ids[row] ?? []), reference: target });
  }
  const isRight = ({ translation, reference }: (typeof judged)[number]): boolean =>
    translation.join(" ") === reference.join(" ");
  return {
    bleu: bleu(judged),
    exactMatch: judged.filter(isRight).length / judged.length,
    examples: judged
      .slice(0, 3)
      .map(({ translation }, index) => `${text.test[index]?.source.join(" ")} → ${translation.join(" ")}`),
  };
}

/** Repeats the last pair until the batch is full, because the program is compiled for one shape. */
const fillBatch = (pairs: readonly Pair[], batch: number): readonly Pair[] =>
  Array.from({ length: batch }, (_, index) => pairs[Math.min(index, pairs.length - 1)] as Pair);

type Predict = (seen: {
  readonly source: ReturnType<typeof encodePairs>["source"];
  readonly seen: ReturnType<typeof encodePairs>["seen"];
}) => Promise<{ readonly data: ArrayLike<number | bigint> }>;

/** Decodes greedily: the likeliest ids of each row, one position after another. */
async function greedy(
  pairs: readonly Pair[],
  text: ParallelText,
  predict: Predict,
): Promise<readonly (readonly number[])[]> {
  const { source, seen } = encodePairs(pairs, text);
  const [rows = 0, length = 0] = seen.shape;
  const ids = new Int32Array(rows * length);
  for (let row = 0; row < rows; row++) ids[row * length] = BEGIN;
  const said: number[][] = Array.from({ length: rows }, () => []);
  for (let place = 0; place < length; place++) {
    const { data } = await predict({ source, seen: tensor(ids, [rows, length]) });
    for (let row = 0; row < rows; row++) {
      const id = Number(data[row * length + place]);
      said[row]?.push(id);
      if (place + 1 < length) ids[row * length + place + 1] = id;
    }
  }
  return said;
}
