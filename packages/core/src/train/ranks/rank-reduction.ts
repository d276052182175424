import type { HostTensor, Ranks, State } from "@mp/graph";
import { numberIn, type Outputs } from "../definition/outputs.js";
import { gradientSlots, REDUCED_SCALARS, type WindowReduction } from "../objective/window.js";
import type { Agreement } from "./agreement.js";
import type { Sharding } from "./shard/sharding.js";

/** Values to reduce besides gradients and metrics. */
export interface RankReductionOptions {
  readonly averageModelState: boolean;
  readonly sharding: Sharding | undefined;
}

/**
 * Sums windows over ranks in f32, before the finite check, so that an infinity of one rank is one of all. Exchanges a
 * few numbers first, among them a flag for each rank that failed; then the gradients, in the engine's memory if
 * possible. The program that applies the window divides its sums; the metrics are already means.
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
      const names = [...REDUCED_SCALARS, ...metrics];
      const numbers = names.map((name) => (failure === undefined ? numberIn(own, name) : 0));
      const flags = Array.from({ length: ranks.size }, (_, rank) =>
        Number(rank === ranks.rank && failure !== undefined),
      );
      const sums = Float32Array.of(...numbers, ...flags);
      await ranks.allReduce(sums);
      const failing = flags.flatMap((_, rank) => (sums[names.length + rank] === 0 ? [] : [rank]));
      if (failing.length > 0) throw agreement.failure("step", failing, failure);
      const sumOf = (name: string): number => sums[names.indexOf(name)] as number;
      await state.write(scalars(REDUCED_SCALARS, sumOf));
      await allReduceSlots(ranks, state, gradientSlots(Object.keys(state.types), of));
      if (averageModelState) await averageModel(ranks, state);
      return scalars(metrics, (name) => sumOf(name) / ranks.size);
    },
  };
}

const scalars = (names: readonly string[], of: (name: string) => number): Outputs =>
  Object.fromEntries(
    names.map((name) => [name, { dtype: "f32", shape: [], data: Float32Array.of(of(name)) } as const]),
  );

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
