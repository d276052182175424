import { formatType, type HostTensor, isHostTensor, MpError, type State, zeros } from "@mp/graph";
import { invalid } from "@mp/graph/internal";
import { isOwnSlot, type Placed } from "../definition/objective-state.js";
import type { Outputs } from "../definition/outputs.js";

/**
 * Combines a window with those of other processes. It gets every gradient (f32, of loss · scale) under its slot
 * `window/gradients/…`, `window/loss` and `window/poison`, and returns tensors of the same names and shapes: means, to
 * keep the size of the step. If the loss has weights, gradients and losses are weighted sums and `window/poison` holds
 * the total weight, so the hook may return sums or means. It must propagate infinities and NaN, so that all processes
 * skip the same steps. It must not wait for a call of the same trainer, since the step waits for it: a call before its
 * first await is rejected with MP_INVALID_ARGUMENT, a later one would deadlock.
 */
export type AllReduce = (window: Outputs) => Promise<Outputs>;

const WINDOW = "window/";

/** The window of a step after its last microbatch and before its update. */
export interface FullWindow {
  readonly state: State;
  /** The objective that owns the window. */
  readonly of: Placed;
  /** Names of the scalars that `run` returns. */
  readonly metrics: readonly string[];
}

/** Combines the windows of several processes into one. */
export interface WindowReduction {
  /** Runs the microbatches, replaces the window's sums by those of all processes, and returns the step's metrics. */
  reduce(window: FullWindow, run: () => Promise<Outputs>): Promise<Outputs>;
  /** Sums the processes' verdicts on their parts of a sharded update. */
  judge?(verdict: number): Promise<number>;
  /** Ends a step of a sharded update: exchanges the new weights if the outputs say that the step was applied. */
  gather?(state: State, outputs: Outputs): Promise<void>;
}

/** Passes the sums of a window through the user's hook. Metrics stay those of this process. */
export function hookReduction(allReduce: AllReduce): WindowReduction {
  return {
    reduce: async ({ state, of }, run) => {
      const metrics = await run();
      const sums = await state.read([...gradientSlots(Object.keys(state.types), of), ...REDUCED_SCALARS]);
      const reduced: unknown = await allReduce(sums);
      checkReduced(sums, reduced);
      await state.write(reduced);
      return metrics;
    },
  };
}

/** The scalars of a window, f32; processes combine them together with its gradients. */
export const REDUCED_SCALARS = ["window/loss", "window/poison"] as const;

/** The slots of an objective's summed gradients, f32. */
export function gradientSlots(slots: readonly string[], of: Placed): readonly string[] {
  return slots.filter((slot) => slot.startsWith("window/gradients") && isOwnSlot(of, slot));
}

/** The slots of an objective's largest magnitudes, f32, of which processes take the maximum. */
export function amaxSlots(slots: readonly string[], of: Placed): readonly string[] {
  return slots.filter((slot) => slot.startsWith("window/amax") && isOwnSlot(of, slot));
}

/** Slots of an empty window: gradients and scalars are zeros, and model state is the run's, from `model/…`. */
export function emptyWindowSlots(state: State, model: Outputs): Outputs {
  const slots = Object.keys(state.types).filter((slot) => slot.startsWith(WINDOW));
  return Object.fromEntries(
    slots.map((slot) => {
      const { dtype, shape } = state.types[slot] as HostTensor;
      return [slot, model[slot.slice(WINDOW.length)] ?? zeros(shape, dtype)];
    }),
  );
}

/** Empties a window after a microbatch or a hook failed. */
export async function resetWindow(state: State): Promise<void> {
  const model = Object.keys(state.types).filter((slot) => Object.hasOwn(state.types, WINDOW + slot));
  await state.write(emptyWindowSlots(state, await state.read(model)));
}

function checkReduced(sums: Outputs, reduced: unknown): asserts reduced is Outputs {
  const refuse = (message: string): never => {
    throw invalid(`allReduce: ${message}; it gives back every tensor it was given`);
  };
  if (typeof reduced !== "object" || reduced === null) return refuse(`returned ${String(reduced)}`);
  for (const name of Object.keys(reduced))
    if (!Object.hasOwn(sums, name)) refuse(`${name} is not of the window`);
  for (const [name, sum] of Object.entries(sums)) {
    const given = (reduced as Readonly<Record<string, unknown>>)[name];
    if (given === undefined) refuse(`${name} is missing`);
    if (!isHostTensor(given)) return refuse(`${name} is no tensor`);
    if (formatType(given) === formatType(sum)) continue;
    throw new MpError(
      given.dtype === sum.dtype ? "MP_SHAPE_MISMATCH" : "MP_DTYPE_MISMATCH",
      `allReduce: ${name} is ${formatType(given)} instead of ${formatType(sum)}`,
    );
  }
}
