/** Checks and cuts examples, and makes their targets. */

import { type HostTensor, tensor } from "@mp/core";
import { shown } from "@mp/graph/internal";
import { type Check, oneOf, optional } from "../check-arguments.js";
import type { BatchIterator } from "../dataset.js";
import { invalid } from "../errors.js";
import { findPlace, formatPlace } from "../row-place.js";

/** A text to train a causal language model on. */
export interface CausalExample {
  /** The tokens, including those for beginning and end. */
  readonly ids: ArrayLike<number>;
  /** Whether the loss counts the prediction of each token: 1 in answers, 0 in prompts; default all 1. */
  readonly mask?: ArrayLike<number | boolean>;
}

/** Target that the loss ignores, as in PyTorch. */
export const IGNORED = -100;

/** Treatment of examples longer than a row: `refuse` throws, `truncate` cuts the end, `drop` leaves them out. */
export type TooLong = "refuse" | "truncate" | "drop";
export const tooLongCheck: Check = optional(oneOf("refuse", "truncate", "drop"));

/** Tokens, and for each the next token, or -100 where the loss does not count it. */
export interface Learned {
  readonly ids: ArrayLike<number>;
  readonly targets: Int32Array<ArrayBuffer>;
}

const isToken = (id: unknown): id is number =>
  Number.isInteger(id) && (id as number) >= 0 && (id as number) < 2 ** 31;
const isList = (value: unknown): value is ArrayLike<unknown> =>
  Array.isArray(value) || ArrayBuffer.isView(value);

/**
 * Reads the tokens of an example, cut to `most`, and their targets; undefined if the example is dropped.
 * @throws MP_INVALID_ARGUMENT for an example that is invalid, too long or without targets, naming its row
 */
function readExample(
  what: string,
  example: CausalExample,
  most: number,
  tooLong: TooLong = "refuse",
): Learned | undefined {
  const refuse = (problem: string) => {
    const place = findPlace(example);
    return invalid(`${place === undefined ? what : formatPlace(place)}: ${problem}`, { ...place });
  };
  const { ids, mask } = example ?? {};
  if (!isList(ids) || ids.length === 0)
    throw refuse(`ids must be a list of tokens, got ${shown(ids)}; encode the row's text`);
  for (let at = 0; at < ids.length; at++)
    if (!isToken(ids[at]))
      throw refuse(`ids must be integers ≥ 0, got ${shown(ids[at])}; encode the row's text`);
  if (mask !== undefined && (!isList(mask) || mask.length !== ids.length)) {
    const got = isList(mask) ? `${(mask as ArrayLike<unknown>).length} for ${ids.length} ids` : shown(mask);
    throw refuse(`mask must have one value for each of the ids, got ${got}; give 0 or 1 for each`);
  }
  const isLong = ids.length > most;
  if (isLong && tooLong === "drop") return undefined;
  if (isLong && tooLong === "refuse") {
    const remedy = 'make rows longer, or pass tooLong: "truncate" or "drop"';
    throw refuse(`an example has ${ids.length} tokens and a row ${most}; ${remedy}`);
  }
  const kept = isLong ? Array.from(ids).slice(0, most) : ids;
  const counts = (at: number) => at > 0 && (mask === undefined || Number(mask[at]) !== 0);
  const targets = Int32Array.from(kept, (_, at) => (counts(at + 1) ? (kept[at + 1] ?? IGNORED) : IGNORED));
  if (mask === undefined || targets.some((target) => target !== IGNORED)) return { ids: kept, targets };
  const problem = Array.from(ids).some((_, at) => counts(at))
    ? `nothing is learned from the first ${most} of its ${ids.length} tokens; make rows longer, or pass tooLong: "drop"`
    : "mask must be 1 for a token after the first, or nothing is learned; give 1 for the tokens of the answer, or take the row out";
  throw refuse(problem);
}

/** Reads the next example, cut to `most` tokens; undefined at the end of the pass. */
export async function nextLearned(
  what: string,
  source: BatchIterator<CausalExample>,
  most: number,
  tooLong: TooLong,
): Promise<Learned | undefined> {
  for (;;) {
    const { done, value } = await source.next();
    if (done === true) return undefined;
    const example = readExample(what, value, most, tooLong);
    if (example !== undefined) return example;
  }
}

/**
 * Converts examples in memory to columns for `bucketBy`, which shuffles them and makes batches of similar lengths:
 * `bucketBy(causalColumns(examples), { buckets: [64, 128], batch: 8, padding: { targets: -100 } })`.
 * @throws MP_INVALID_ARGUMENT for a value that is not an example
 */
export function causalColumns(examples: Iterable<CausalExample>): {
  readonly ids: readonly HostTensor<"i32">[];
  readonly targets: readonly HostTensor<"i32">[];
} {
  const all = [...examples].flatMap(
    (example) => readExample("causalColumns", example, Number.POSITIVE_INFINITY) ?? [],
  );
  return {
    ids: all.map(({ ids }) => tensor(Int32Array.from(ids))),
    targets: all.map(({ targets }) => tensor(targets)),
  };
}
