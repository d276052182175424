import type { State } from "../../backend.js";
import type { HostTensor } from "../../host-tensor.js";
import type { Outputs } from "../step/outputs.js";
import { sharedSlots, type WindowReduction } from "../step/window.js";
import type { Agreement } from "./agreement.js";

/**
 * The mean over ranks, in f32, before the finite check: an infinity of one rank is one of all. The window and the
 * metrics travel as one buffer, followed by a flag for each rank that says whether it failed.
 */
export function rankReduction(agreement: Agreement): WindowReduction {
  const { ranks } = agreement;
  // Of one objective, whose windows all have the same size.
  let buffer = new Float32Array();
  return {
    reduce: async ({ state, of, metrics }, run) => {
      const slots = sharedSlots(state, of);
      const sizes = slots.map((slot) => elementsOf(state, slot));
      const length = sizes.reduce((sum, size) => sum + size, metrics.length + ranks.size);
      if (buffer.length !== length) buffer = new Float32Array(length);
      const own = buffer.subarray(length - ranks.size);
      let failure: { readonly error: unknown } | undefined;
      let window: Outputs = {};
      let means: Outputs = {};
      try {
        means = await run();
        window = await state.read(slots);
      } catch (error) {
        failure = { error };
      }
      own.fill(0);
      if (failure === undefined)
        pack(buffer, [...slots.map((slot) => window[slot]), ...metrics.map((name) => means[name])]);
      else own[ranks.rank] = 1;
      await ranks.allReduce(buffer);
      const failing = Array.from(own.keys()).filter((rank) => own[rank] !== 0);
      if (failing.length > 0) throw agreement.failure("step", failing, failure);
      for (let at = 0; at < length; at++) buffer[at] = (buffer[at] as number) / ranks.size;
      const all = unpack(buffer, { ...window, ...pick(means, metrics) }, [...slots, ...metrics]);
      await state.write(pick(all, slots));
      return pick(all, metrics);
    },
  };
}

const elementsOf = (state: State, slot: string): number =>
  (state.types[slot]?.shape ?? []).reduce((product, size) => product * size, 1);

const pick = (from: Outputs, names: readonly string[]): Outputs =>
  Object.fromEntries(names.map((name) => [name, from[name] as HostTensor]));

function pack(buffer: Float32Array, tensors: readonly (HostTensor | undefined)[]): void {
  let at = 0;
  for (const tensor of tensors) {
    const { data } = tensor as HostTensor<"f32">;
    buffer.set(data, at);
    at += data.length;
  }
}

/** Tensors on the buffer's memory, in the order and shapes of those that were packed. */
function unpack(buffer: Float32Array, like: Outputs, names: readonly string[]): Outputs {
  let at = 0;
  const placed = names.map((name) => {
    const { shape, data: packed } = like[name] as HostTensor<"f32">;
    const data = buffer.subarray(at, at + packed.length);
    at += packed.length;
    return [name, { dtype: "f32", shape, data } satisfies HostTensor<"f32">] as const;
  });
  return Object.fromEntries(placed);
}
