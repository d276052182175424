import { type Backend, type HostTensor, MpError, type State, type StateOptions } from "@mp/graph";
import { reference } from "@mp/graph/reference";
import { delegate } from "../../src/delegate.js";
import type { WrongBackend } from "./wrong-backend.js";

type Change = (values: Float32Array) => Promise<void>;
type Values = Readonly<Record<string, HostTensor>>;
type Slots = readonly string[];
type Work = <R>(work: () => Promise<R>) => Promise<R>;

const BLOCK = 16;

/** The steps of an in-place change. The oracle's states copy their slots into an array and back. */
interface Behaviour {
  readonly load: (state: State, slots: Slots) => Promise<Values>;
  readonly order: (slots: Slots) => Slots;
  readonly store: (state: State, values: Values) => Promise<void>;
  readonly change: (change: Change, array: Float32Array) => Promise<void>;
  readonly accepts: (groups: readonly Slots[], slots: Slots) => boolean;
  readonly inTurn: () => Work;
}

const right: Behaviour = {
  load: (state, slots) => state.read(slots),
  order: (slots) => slots,
  store: (state, values) => state.write(values),
  change: (change, array) => change(array),
  accepts: (groups, slots) => groups.some((group) => group.join() === slots.join()),
  inTurn: () => {
    let tail: Promise<unknown> = Promise.resolve();
    return (work) => {
      const result = tail.then(work);
      tail = result.catch(() => undefined);
      return result;
    };
  },
};

/** The oracle with `inPlace` on its states; `wrong` replaces parts of its behavior. */
export async function changedInPlace(wrong: Partial<Behaviour> = {}): Promise<Backend> {
  const backend = await reference();
  const behaviour = { ...right, ...wrong };
  const inTurn = behaviour.inTurn();
  const inner = new WeakMap<State, State>();
  const createState = async (values: Values, options: StateOptions = {}): Promise<State> => {
    const state = await backend.createState(values, options);
    const outer: State = {
      types: state.types,
      read: (names) => inTurn(() => state.read(names)),
      write: (given) => inTurn(() => state.write(given)),
      dispose: () => inTurn(() => state.dispose()),
      inPlace: async (slots, change) => {
        if (!behaviour.accepts(options.adjacent ?? [], slots))
          throw new MpError("MP_INVALID_ARGUMENT", "inPlace: no group of adjacent");
        return inTurn(() => throughArray(behaviour, state, slots, change));
      },
    };
    inner.set(outer, state);
    return outer;
  };
  return delegate(backend, {
    createState,
    compile: async (graph, options = {}) => {
      const { state, ...rest } = options;
      const known = state === undefined ? {} : { state: inner.get(state) ?? state };
      const executable = await backend.compile(graph, { ...rest, ...known });
      return {
        warnings: executable.warnings,
        run: (inputs) => inTurn(() => executable.run(inputs)),
        dispose: () => inTurn(() => executable.dispose()),
      };
    },
  });
}

async function throughArray(
  { load, order, store, change: changed }: Behaviour,
  state: State,
  slots: Slots,
  change: Change,
): Promise<void> {
  const own = await load(state, slots);
  let end = 0;
  const places = order(slots).map((name) => {
    const value = own[name] as HostTensor<"f32">;
    const start = end;
    end += Math.ceil(value.data.length / BLOCK) * BLOCK;
    return { name, value, start };
  });
  const array = new Float32Array(end);
  for (const { value, start } of places) array.set(value.data, start);
  try {
    await changed(change, array);
  } finally {
    const next = places.map(({ name, value, start }): [string, HostTensor] => [
      name,
      { ...value, data: array.slice(start, start + value.data.length) },
    ]);
    await store(state, Object.fromEntries(next));
  }
}

const CHANGED = "in-place/group/is-changed-where-it-is-kept";
const IN_TURN = "in-place/group/waits-its-turn";
const FAILED = "in-place/failed/passes-the-error-on";

const fault = (
  words: string,
  wrong: Partial<Behaviour>,
  named: readonly string[],
  consequences: readonly RegExp[] = [],
): WrongBackend => ({
  fault: `in place, ${words}`,
  factory: () => changedInPlace(wrong),
  axes: ["in-place"],
  named,
  consequences,
});

/** Loads the value that each state had when its slots were first changed. */
function stale(): Behaviour["load"] {
  const first = new WeakMap<State, Values>();
  return async (state, slots) => {
    const known = first.get(state) ?? (await state.read(slots));
    first.set(state, known);
    return known;
  };
}

export const inPlaceFaults: readonly WrongBackend[] = [
  fault("a copy is changed", { store: async () => undefined }, [CHANGED, IN_TURN, FAILED]),
  fault("the slots come in another order", { order: (slots) => slots.toReversed() }, [
    CHANGED,
    IN_TURN,
    FAILED,
  ]),
  fault("the values are those of an earlier change", { load: stale() }, [CHANGED, FAILED]),
  fault("a change does not wait its turn", { inTurn: () => (work) => work() }, [IN_TURN]),
  fault(
    "the failure of a change is lost",
    { change: (change, array) => change(array).catch(() => undefined) },
    [FAILED],
  ),
  fault("any slots are taken for a group", { accepts: () => true }, ["in-place/group/is-checked"]),
];
