/** Observes the states of a backend: the bytes of their slots, and the time of summing gradients over ranks. */
import type { Backend } from "@mp/core";
import { byteLength, type State } from "@mp/core/graph";
import { withFunctions } from "../backend-wrappers.js";
import { time } from "../timing.js";

export interface Observed {
  readonly backend: Backend;
  /** Bytes by slot, counted once if an engine keeps two copies. */
  readonly slotBytes: Map<string, number>;
  /** For each step, the time of exchanging gradients, with the copies that this needs. */
  readonly reductionMilliseconds: number[];
}

const hasGradients = (slots: readonly string[]): boolean =>
  slots.some((slot) => slot.startsWith("window/gradients"));

export function observeStates(backend: Backend): Observed {
  const slotBytes = new Map<string, number>();
  const reductionMilliseconds: number[] = [];
  const inner = new WeakMap<State, State>();
  const observe = (state: State): State => {
    let start = 0;
    const { inPlace } = state;
    const outer: State = {
      types: state.types,
      read: (slots) => {
        if (slots !== undefined && hasGradients(slots)) start = performance.now();
        return state.read(slots);
      },
      write: async (values) => {
        await state.write(values);
        if (start > 0 && hasGradients(Object.keys(values)))
          reductionMilliseconds.push(performance.now() - start);
      },
      dispose: () => state.dispose(),
      ...(inPlace && { inPlace: (...given) => time(reductionMilliseconds, () => inPlace(...given)) }),
    };
    inner.set(outer, state);
    return outer;
  };
  return {
    slotBytes,
    reductionMilliseconds,
    backend: withFunctions(backend, {
      compile: (graph, { state, ...options } = {}) =>
        backend.compile(
          graph,
          state === undefined ? options : { ...options, state: inner.get(state) ?? state },
        ),
      createState: async (values, options) => {
        for (const [slot, value] of Object.entries(values)) slotBytes.set(slot, byteLength(value));
        return observe(await backend.createState(values, options));
      },
    }),
  };
}
