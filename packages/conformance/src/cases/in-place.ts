/** Slots that `inPlace` changes, for engines whose memory is the host's. All numbers are small and whole. */
import type { Backend, Graph, HostTensor, State } from "@mp/graph";
import type { ConformanceCase } from "../conformance-case.js";
import { expectCode, expectEqual, expectThat } from "../expectations.js";
import { generate } from "../host-data.js";
import { at, buildGraph, f32, sum, valueType } from "../small-graphs.js";
import { expectSame, scriptedCase, withExecutable } from "./kinds/scripted-case.js";

const GROUP = ["wide", "narrow"];
/** Position of `narrow` in the array: the next multiple of 64 bytes after the 18 elements of `wide`. */
const SECOND = 32;

const wide = (first: number): HostTensor => generate("f32", [3, 6], (place) => place + first);
const narrow = (first: number): HostTensor => f32(first, first + 1, first + 2);

/** Adds x to `narrow`; `wide` stays, so that only one slot of the group is replaced. */
const graph = (): Graph =>
  buildGraph({
    inputs: { wide: valueType("f32", 3, 6), narrow: valueType("f32", 3), x: valueType("f32", 3) },
    outputs: (builder, inputs) => ({
      next: sum(builder, at(inputs, "narrow"), at(inputs, "x")),
      seen: sum(builder, at(inputs, "wide"), builder.literal(0, "f32")),
    }),
  });

const bindings = [
  { slot: "wide", input: "wide" },
  { slot: "narrow", input: "narrow", output: "next" },
];

type InPlace = NonNullable<State["inPlace"]>;

/** Runs `body` if the engine has `inPlace`. */
async function withGroup(
  backend: Backend,
  body: (state: State, inPlace: InPlace) => Promise<void>,
): Promise<void> {
  const values = { narrow: narrow(100), other: f32(7), wide: wide(0) };
  const state = await backend.createState(values, { adjacent: [GROUP] });
  try {
    if (state.inPlace !== undefined)
      await body(state, (slots, change) => state.inPlace?.(slots, change) as Promise<void>);
    expectSame((await state.read(["other"]))["other"], f32(7), "a slot beside the group");
  } finally {
    await state.dispose();
  }
}

/** Checks the contents of the array and adds `more` to all of it. */
const adding =
  (more: number, held: { readonly wide: HostTensor; readonly narrow: HostTensor }, when: string) =>
  async (values: Float32Array): Promise<void> => {
    const part = (from: number, like: HostTensor): HostTensor =>
      ({ ...like, data: values.slice(from, from + like.data.length) }) as HostTensor;
    expectSame(part(0, held.wide), held.wide, `the first slot of the array ${when}`);
    expectSame(part(SECOND, held.narrow), held.narrow, `the second slot of the array ${when}`);
    // Gives calls that do not wait for this change the time to use the state.
    await new Promise((resolve) => setTimeout(resolve, 1));
    for (const at of values.keys()) values[at] = (values[at] as number) + more;
  };

async function expectValues(state: State, first: number, second: number, when: string): Promise<void> {
  const read = await state.read(GROUP);
  expectSame(read["wide"], wide(first), `wide ${when}`);
  expectSame(read["narrow"], narrow(second), `narrow ${when}`);
}

export const inPlaceCases: readonly ConformanceCase[] = [
  scriptedCase("in-place/group/is-changed-where-it-is-kept", graph(), (backend) =>
    withGroup(backend, async (state, inPlace) => {
      const held = { wide: wide(0), narrow: narrow(100) };
      await inPlace(GROUP, adding(10, held, "of a new state"));
      await expectValues(state, 10, 110, "after a change");
      await state.write({ wide: wide(20) });
      await withExecutable(
        backend,
        graph(),
        async (executable) => {
          const { seen } = await executable.run({ x: f32(1, 1, 1) });
          expectSame(seen, wide(20), "what a run reads after a change and a write");
          // The run replaced one of the two slots.
          await inPlace(GROUP, adding(5, { wide: wide(20), narrow: narrow(111) }, "after a run"));
          await expectValues(state, 25, 116, "after a run and a change");
          await executable.run({ x: f32(2, 2, 2) });
          await expectValues(state, 25, 118, "after a change and a run");
        },
        { state, bindings },
      );
    }),
  ),
  scriptedCase("in-place/group/waits-its-turn", graph(), (backend) =>
    withGroup(backend, (state, inPlace) =>
      withExecutable(
        backend,
        graph(),
        async (executable) => {
          const first = executable.run({ x: f32(1, 1, 1) });
          const change = inPlace(GROUP, adding(10, { wide: wide(0), narrow: narrow(101) }, "after a run"));
          const second = executable.run({ x: f32(1, 1, 1) });
          const reading = state.read(["narrow"]);
          await Promise.all([first, change, second]);
          expectSame((await reading)["narrow"], narrow(112), "narrow, read after two runs and a change");
        },
        { state, bindings },
      ),
    ),
  ),
  scriptedCase("in-place/failed/passes-the-error-on", graph(), (backend) =>
    withGroup(backend, async (state, inPlace) => {
      const error = new RangeError("a change that fails");
      const failed = await inPlace(GROUP, async (values) => {
        for (const at of values.keys()) values[at] = (values[at] as number) + 3;
        throw error;
      }).then(
        () => undefined,
        (reason: unknown) => reason,
      );
      expectThat(failed === error, "inPlace rejects with the error of the change itself");
      await inPlace(GROUP, adding(1, { wide: wide(3), narrow: narrow(103) }, "after a change that failed"));
      await expectValues(state, 4, 104, "after a change that failed and one that did not");
    }),
  ),
  scriptedCase("in-place/group/is-checked", graph(), async (backend) => {
    await withGroup(backend, async (_state, inPlace) => {
      const calls: Float32Array[] = [];
      for (const slots of [["narrow", "wide"], ["wide"], ["other"], []])
        await expectCode("MP_INVALID_ARGUMENT", `inPlace of [${slots.join(", ")}]`, () =>
          inPlace(slots, async (values) => void calls.push(values)),
        );
      expectEqual(calls.length, 0, "changes that were refused and called");
    });
    const create = (adjacent: readonly (readonly string[])[]) => () =>
      backend.createState({ a: f32(1) }, { adjacent });
    await expectCode("MP_INVALID_ARGUMENT", "adjacent with a slot that is missing", create([["c"]]));
    await expectCode("MP_INVALID_ARGUMENT", "adjacent with a slot in two groups", create([["a"], ["a"]]));
  }),
];
