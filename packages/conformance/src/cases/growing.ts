/**
 * A state with many slots that grow together, and helpers for calls that are not awaited: the basis of the ordering
 * cases.
 */
import type { Backend, Executable, HostTensor, State } from "@mp/graph";
import { expectEqual, expectThat, fail } from "../expectations.js";
import { at, buildGraph, f32, scalar, sum, valueType } from "../small-graphs.js";
import { type Setup, type Values, withState } from "./kinds/with-state.js";

const SLOTS = ["a", "b", "c", "d", "e"];

/** Values for all slots of `growing`, all elements equal. */
export const allAt = (value: number): Values =>
  Object.fromEntries(SLOTS.map((slot) => [slot, f32(value, value, value)]));

/** Adds `by` to every slot; the output `seen` is the old value of the last slot. */
export const growing = (): Setup => ({
  graph: buildGraph({
    inputs: { ...Object.fromEntries(SLOTS.map((slot) => [slot, valueType("f32", 3)])), by: valueType("f32") },
    outputs: (builder, inputs) => ({
      ...Object.fromEntries(
        SLOTS.map((slot) => [`next ${slot}`, sum(builder, at(inputs, slot), at(inputs, "by"))]),
      ),
      seen: at(inputs, "e"),
    }),
  }),
  bindings: SLOTS.map((slot) => ({ slot, input: slot, output: `next ${slot}` })),
  values: allAt(0),
});

/** Compiles another executable of `growing` for the state. */
export const another = (backend: Backend, state: State): Promise<Executable> => {
  const { graph, bindings } = growing();
  return backend.compile(graph, { state, bindings });
};

export const withGrowing = (
  backend: Backend,
  body: (state: State, executable: Executable) => Promise<void>,
): Promise<void> => withState(backend, growing(), body);

export const by = (amount: number): { readonly by: HostTensor } => ({ by: scalar(amount) });

/** The value that all elements of a tensor share. @throws if they differ */
export function level(tensor: HostTensor | undefined, what: string): number {
  const [first, ...others] = (tensor?.data ?? []) as Iterable<number>;
  if (first === undefined) return fail(`${what} is missing`);
  expectThat(
    others.every((x) => x === first),
    () => `${what} is half one thing and half another: ${[first, ...others].join(", ")}`,
  );
  return first;
}

/** The value that all slots share. @throws if they differ, as after a read of a half-finished commit */
export function levelOfAll(values: Values, what: string): number {
  const levels = SLOTS.map((slot) => level(values[slot], `${what}, slot ${slot},`));
  expectThat(
    levels.every((level) => level === levels[0]),
    () => `${what} is half done: its slots, which always move together, are ${levels.join(", ")}`,
  );
  return levels[0] as number;
}

/** @throws unless all elements of all slots in a read are `want` */
export async function expectRead(reading: Promise<Values>, want: number, what: string): Promise<void> {
  expectEqual(levelOfAll(await reading, "a read"), want, what);
}

/** @throws unless the runs' outputs `seen`, the old values of the last slot, are `want` */
export async function expectSeen(
  running: readonly Promise<Values>[],
  want: readonly number[],
  what: string,
): Promise<void> {
  const seen = (await Promise.all(running)).map((result) => level(result["seen"], "what a run saw"));
  expectEqual(seen, want, what);
}

/** One turn of the event loop, after which everything that waited only for promises is done. */
export const turn = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 0));

/** Returns a call that is awaited later; until then a rejection does not count as unhandled. */
export function later<T>(call: Promise<T>): Promise<T> {
  call.catch(() => undefined);
  return call;
}
