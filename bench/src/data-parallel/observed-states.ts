/** A backend whose states show what ranks cost: the bytes of their slots, and the time in which gradients are summed. */
import type { Backend } from "@mp/core";
import { byteLength, type State } from "@mp/core/graph";

export interface Observed {
  readonly backend: Backend;
  /** Bytes of one side, where an engine keeps two. */
  readonly slotBytes: Map<string, number>;
  /** One entry per step: the exchange of its gradients with the copies that it needs. */
  readonly reductionMilliseconds: number[];
}

const hasGradients = (slots: readonly string[]): boolean =>
  slots.some((slot) => slot.startsWith("window/gradients"));

export function observed(backend: Backend): Observed {
  const slotBytes = new Map<string, number>();
  const reductionMilliseconds: number[] = [];
  const inner = new WeakMap<State, State>();
  const observedState = (state: State): State => {
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
      ...(inPlace === undefined
        ? {}
        : {
            inPlace: async (...given: Parameters<typeof inPlace>) => {
              const begin = performance.now();
              await inPlace(...given);
              reductionMilliseconds.push(performance.now() - begin);
            },
          }),
    };
    inner.set(outer, state);
    return outer;
  };
  return {
    slotBytes,
    reductionMilliseconds,
    backend: {
      name: backend.name,
      specVersion: backend.specVersion,
      manifest: backend.manifest,
      compile: (graph, options = {}) => {
        const { state, ...rest } = options;
        return backend.compile(
          graph,
          state === undefined ? rest : { ...rest, state: inner.get(state) ?? state },
        );
      },
      createState: async (values, options) => {
        for (const [slot, value] of Object.entries(values)) slotBytes.set(slot, byteLength(value));
        return observedState(await backend.createState(values, options));
      },
      upload: (tensor) => backend.upload(tensor),
      download: (handle) => backend.download(handle),
      stats: () => backend.stats(),
      dispose: () => backend.dispose(),
    },
  };
}
