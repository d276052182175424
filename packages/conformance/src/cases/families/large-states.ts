/** Slots, results and handles of 20 000 elements of random bits; all elements are compared. */
import { DTYPES, type DType, type Graph, type HostTensor, type StateBinding } from "@mp/graph";
import type { ConformanceCase } from "../../conformance-case.js";
import { expectThat } from "../../expectations.js";
import { fresh } from "../../fresh.js";
import { expectUntouched, overwrite } from "../../held-data.js";
import { randomBits } from "../../random-bits-of.js";
import { holdable } from "../../short-integers.js";
import { at, buildGraph, flag, valueType } from "../../small-graphs.js";
import { expectSame, scriptedCase } from "../kinds/scripted-case.js";
import { withState } from "../kinds/with-state.js";

const SIZE = 20_000;
const SLOTS = ["always", "applied", "kept", "passed", "first", "second"] as const;

/**
 * Replaces one slot always and one when applied, passes one on, exchanges two, and keeps one; returns the old values.
 */
function exchanging(dtype: DType): Graph {
  const type = valueType(dtype, SIZE);
  return buildGraph({
    inputs: {
      ...Object.fromEntries(SLOTS.map((slot) => [slot, type])),
      x: type,
      y: type,
      go: valueType("bool"),
    },
    outputs: (builder, inputs) => ({
      ...Object.fromEntries(SLOTS.map((slot) => [`saw ${slot}`, at(inputs, slot)])),
      x: at(inputs, "x"),
      y: at(inputs, "y"),
      passed: at(inputs, "passed"),
      first: at(inputs, "second"),
      second: at(inputs, "first"),
      joined: builder.emitOne("Concat", [at(inputs, "x"), at(inputs, "always")], { axis: 0 }),
      go: at(inputs, "go"),
    }),
  });
}

const BINDINGS: readonly StateBinding[] = [
  { slot: "always", input: "always", output: "x" },
  { slot: "applied", input: "applied", output: "y", commit: "when-applied" },
  { slot: "kept", input: "kept" },
  { slot: "passed", input: "passed", output: "passed", commit: "when-applied" },
  { slot: "first", input: "first", output: "first" },
  { slot: "second", input: "second", output: "second" },
];

type Values = Readonly<Record<string, HostTensor>>;

const joinedOf = (a: HostTensor, b: HostTensor): HostTensor => {
  const joined = new (a.data.constructor as new (length: number) => Float32Array)(2 * SIZE);
  joined.set(a.data as Float32Array);
  joined.set(b.data as Float32Array, SIZE);
  return { dtype: a.dtype, shape: [2 * SIZE], data: joined } as unknown as HostTensor;
};

const largeCase = (dtype: DType): ConformanceCase =>
  scriptedCase(
    `large-state/${dtype}/of-random-bits`,
    exchanging(dtype),
    async (backend, { random, seed }) => {
      const make = (): HostTensor => holdable(randomBits({ random, dtype }, [SIZE]), backend.manifest);
      let held: Values = Object.fromEntries(SLOTS.map((slot) => [slot, make()]));
      const given = fresh(held);
      const kept: (readonly [string, HostTensor, HostTensor])[] = [];
      const expectAll = (got: Values, want: Values, when: string): void => {
        for (const [name, value] of Object.entries(want)) {
          expectSame(got[name], value, `${name} ${when} (seed ${seed})`);
          kept.push([`${name} ${when}`, got[name] as HostTensor, value]);
        }
      };
      await withState(
        backend,
        { graph: exchanging(dtype), bindings: BINDINGS, values: given, applied: "go" },
        async (state, executable) => {
          for (const value of Object.values(given)) overwrite(value);
          expectAll(await state.read(), held, "of a new state");
          for (const [run, go] of [true, false, true].entries()) {
            const [x, y] = [make(), make()];
            const fed = {
              x: fresh(x),
              y: run === 1 ? await backend.upload(fresh(y)) : fresh(y),
              go: flag(go),
            };
            const got = await executable.run(fed);
            const seen = Object.fromEntries(SLOTS.map((slot) => [`saw ${slot}`, held[slot] as HostTensor]));
            expectAll(got, { ...seen, joined: joinedOf(x, held["always"] as HostTensor) }, `of run ${run}`);
            const { applied, first, second } = held as Record<(typeof SLOTS)[number], HostTensor>;
            held = { ...held, always: x, applied: go ? y : applied, first: second, second: first };
            expectAll(await state.read(), held, `after run ${run}`);
            expectUntouched(fed.x, x, `x of run ${run}`);
            overwrite(fed.x);
            if ("data" in fed.y) overwrite(fed.y);
            else {
              expectSame(await backend.download(fed.y), y, `the handle of run ${run}`);
              fed.y.dispose();
            }
            expectAll(
              await state.read(["always", "applied"]),
              { always: x, applied: held["applied"] as HostTensor },
              `after run ${run} and a write to what was fed`,
            );
            const written = make();
            held = { ...held, kept: written };
            await state.write({ kept: fresh(written) });
          }
          expectAll(await state.read(), held, "at the end");
        },
      );
      for (const [what, tensor, want] of kept)
        expectSame(tensor, want, `${what}, after the state has ended,`);
    },
  );

const GROUP = ["wide", "narrow"];

const placed: Graph = buildGraph({
  inputs: { wide: valueType("f32", SIZE), narrow: valueType("f32", 21) },
  outputs: (_, inputs) => ({ saw: at(inputs, "wide"), narrow: at(inputs, "narrow") }),
});

const inPlace = scriptedCase(
  "large-state/in-place/of-random-bits",
  placed,
  async (backend, { random, seed }) => {
    const floats = { random, dtype: "f32" } as const;
    const values = { wide: randomBits(floats, [SIZE]), narrow: randomBits(floats, [21]) };
    const state = await backend.createState(fresh(values), { adjacent: [GROUP] });
    const start = Math.ceil(SIZE / 16) * 16;
    const changed = { wide: randomBits(floats, [SIZE]), narrow: randomBits(floats, [21]) };
    await state.inPlace?.(GROUP, async (array) => {
      const part = (from: number, like: HostTensor): HostTensor =>
        ({ ...like, data: array.slice(from, from + like.data.length) }) as HostTensor;
      expectSame(part(0, values.wide), values.wide, `the first slot of the array (seed ${seed})`);
      expectSame(part(start, values.narrow), values.narrow, `the second slot of the array (seed ${seed})`);
      expectThat(array.length >= start + 21, `an array of ${array.length} for slots of ${SIZE} and 21`);
      array.set(changed.wide.data as Float32Array);
      array.set(changed.narrow.data as Float32Array, start);
    });
    const now = state.inPlace === undefined ? values : changed;
    const executable = await backend.compile(placed, {
      state,
      bindings: GROUP.map((slot) => ({ slot, input: slot })),
    });
    const { saw, narrow } = await executable.run({});
    expectSame(saw, now.wide, `what a run reads after a change in place (seed ${seed})`);
    expectSame(
      narrow,
      now.narrow,
      `what a run reads of the second slot after a change in place (seed ${seed})`,
    );
    const read = await state.read();
    for (const slot of GROUP)
      expectSame(read[slot], now[slot as "wide"], `${slot} after a change in place (seed ${seed})`);
    await executable.dispose();
    await state.dispose();
  },
);

export const largeStateCases: readonly ConformanceCase[] = [...DTYPES.map(largeCase), inPlace];
