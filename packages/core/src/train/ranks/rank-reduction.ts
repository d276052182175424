import { type HostTensor, type Ranks, type State, tensor } from "@mp/graph";
import { numberIn, type Outputs, scalars, WEIGHT, weightedSum, weightIn } from "../definition/outputs.js";
import {
  amaxSlots,
  gradientSlots,
  REDUCED_SCALARS,
  type WindowReduction,
} from "../objective/window-reduction.js";
import type { Agreement } from "./agreement.js";
import type { Sharding } from "./shard/sharding.js";

/** Data that ranks exchange besides gradients and metrics: model state, and new weights if the update is sharded. */
export interface RankReductionOptions {
  readonly averageModelState: boolean;
  readonly sharding: Sharding | undefined;
}

/**
 * Sums accumulation windows over ranks in f32, before the finite check, so that an infinity of one rank reaches all.
 * Exchanges a few numbers first, among them a flag for each rank that failed; then the gradients, in the engine's
 * memory if possible. The program that applies the window divides its sums; the metrics are already means.
 */
export function rankReduction(
  agreement: Agreement,
  { averageModelState, sharding }: RankReductionOptions,
): WindowReduction {
  const { ranks } = agreement;
  return {
    ...(sharding === undefined ? {} : { gather: sharding.gather }),
    judge: async (verdict) => {
      const sum = Float32Array.of(verdict);
      await ranks.allReduce(sum);
      return sum[0] as number;
    },
    reduce: async ({ state, of, metrics }, run) => {
      let failure: { readonly error: unknown } | undefined;
      let own: Outputs = {};
      try {
        own = { ...(await run()), ...(await state.read(REDUCED_SCALARS)) };
      } catch (error) {
        failure = { error };
      }
      // Each rank has weight 1 unless its loss returns a weight; its metrics are means already.
      const weight = weightIn(own) ?? 1;
      const terms: readonly (readonly [name: string, term: () => number])[] = [
        ...REDUCED_SCALARS.map((name) => [name, () => numberIn(own, name)] as const),
        ...metrics.map((name) => [name, () => weightedSum([numberIn(own, name)], [weight])] as const),
        [WEIGHT, () => weight],
      ];
      const names = terms.map(([name]) => name);
      const numbers = terms.map(([, term]) => (failure === undefined ? term() : 0));
      const flags = Array.from({ length: ranks.size }, (_, rank) =>
        Number(rank === ranks.rank && failure !== undefined),
      );
      const sums = Float32Array.of(...numbers, ...flags);
      await ranks.allReduce(sums);
      const failing = flags.flatMap((_, rank) => (sums[names.length + rank] === 0 ? [] : [rank]));
      if (failing.length > 0) throw agreement.failure("step", failing, failure);
      const sumOf = (name: string): number => sums[names.indexOf(name)] as number;
      await state.write(scalars(REDUCED_SCALARS, sumOf));
      const slots = Object.keys(state.types);
      await allReduceSlots(ranks, state, gradientSlots(slots, of));
      await takeMaximum(ranks, state, amaxSlots(slots, of));
      if (averageModelState) await averageModel(ranks, state);
      return scalars(metrics, (name) => sumOf(name) / sumOf(WEIGHT));
    },
  };
}

/** Replaces slots by their maximum over ranks, each of which adds its own numbers to a row of zeros. */
async function takeMaximum(ranks: Ranks, state: State, slots: readonly string[]): Promise<void> {
  if (slots.length === 0) return;
  const own = await state.read(slots);
  const numbers = slots.flatMap((slot) => [...(own[slot] as HostTensor<"f32">).data]);
  const rows = new Float32Array(ranks.size * numbers.length);
  rows.set(numbers, ranks.rank * numbers.length);
  await ranks.allReduce(rows);
  const most = numbers.map((_, at) =>
    Math.max(...Array.from({ length: ranks.size }, (_, rank) => rows[rank * numbers.length + at] as number)),
  );
  let end = 0;
  const taken = slots.map((slot) => {
    const { data, shape } = own[slot] as HostTensor<"f32">;
    end += data.length;
    return [slot, tensor(Float32Array.from(most.slice(end - data.length, end)), shape)] as const;
  });
  await state.write(Object.fromEntries(taken));
}

/** Averages the f32 model state over ranks; other state, such as counts, stays each rank's own. */
async function averageModel(ranks: Ranks, state: State): Promise<void> {
  const slots = Object.keys(state.types).filter(
    (slot) => slot.startsWith("window/model") && state.types[slot]?.dtype === "f32",
  );
  await allReduceCopies(ranks, state, slots, (sum) => sum / ranks.size);
}

/** Sums slots over ranks, without a copy if the engine's memory is the host's. */
async function allReduceSlots(ranks: Ranks, state: State, slots: readonly string[]): Promise<void> {
  if (state.inPlace !== undefined) return state.inPlace(slots, (values) => ranks.allReduce(values));
  return allReduceCopies(ranks, state, slots);
}

async function allReduceCopies(
  ranks: Ranks,
  state: State,
  slots: readonly string[],
  map?: (sum: number) => number,
): Promise<void> {
  const own = await state.read(slots);
  const values = slots.map((slot) => (own[slot] as HostTensor<"f32">).data);
  const buffer = new Float32Array(values.reduce((sum, { length }) => sum + length, 0));
  let end = 0;
  const parts = values.map((each) => {
    buffer.set(each, end);
    end += each.length;
    return buffer.subarray(end - each.length, end);
  });
  await ranks.allReduce(buffer);
  if (map !== undefined) for (const at of buffer.keys()) buffer[at] = map(buffer[at] as number);
  const summed = slots.map((slot, at) => [slot, { ...own[slot], data: parts[at] } as HostTensor] as const);
  await state.write(Object.fromEntries(summed));
}
