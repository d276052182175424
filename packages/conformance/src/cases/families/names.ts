/** Names of inputs, outputs and slots may be any strings: long and alike, empty, integers, names of JS objects. */
import { type Graph, GraphBuilder, type HostTensor, type RunInput, type StateBinding } from "@mp/graph";
import type { ConformanceCase } from "../../conformance-case.js";
import { expectCode, expectEqual } from "../../expectations.js";
import { generate } from "../../host-data.js";
import { inAnyOrder, type RandomSource } from "../../random-source.js";
import { valueType } from "../../small-graphs.js";
import { expectSame, scriptedCase, withExecutable } from "../kinds/scripted-case.js";
import { withState } from "../kinds/with-state.js";

/** Names that are equal up to a length at which an engine may truncate its keys or fields. */
const alike = (length: number): readonly string[] => {
  const start = "block/attention.weight_".repeat(60).slice(0, length);
  return [`${start}a`, `${start}b`, `${start}A`];
};

/** Names that are equal from the second character on. */
const alikeAtTheEnd = (length: number): readonly string[] => {
  const end = "kernel/0".repeat(60).slice(0, length);
  return [`a${end}`, `b${end}`];
};

const OF_OBJECTS = [
  "__proto__", "constructor", "prototype", "toString", "valueOf", "hasOwnProperty", "length", "name", "then", "get",
  "isPrototypeOf", "__defineGetter__", "undefined", "null", "NaN", "true",
]; // biome-ignore format: a list

/** Names like integers; JavaScript's objects list true integers first, in numerical order. */
const OF_INTEGERS = [
  "10",
  "9",
  "1",
  "0",
  "01",
  "-1",
  "1.0",
  "4294967295",
  "4294967294",
  "9007199254740993",
  "1e3",
];

const WITH_SIGNS = [
  "", " ", "  ", "a b", "a/b", "a//b", "a/", "/a", "a.b", "a.", ".", "..", "a:0", "a:1", "^a", "%0", "%a", "a,b", "a;b",
  "a\nb", "a\tb", "a\\b", 'a"b', "a'b", "{a}", "[0]", "a=b", "a->b", "$a", "#a", "@a", "*", "ü", "u\u0308", "☃", "日本",
  "🙂", "🙃", "\u00e9", "e\u0301", "Ａ", "a\u200bb", "\u0000", "a\u0000b", "a\u0000c",
]; // biome-ignore format: a list

/** Names in the style of engines and exporters. */
const OF_ENGINES = [
  "x", "X", "y", "x0", "x_0", "x1", "x_1", "Add", "Add_1", "Add_2", "add", "Sub", "Sub_1", "Const", "Constant_1",
  "Identity", "Placeholder", "output0", "output_0", "input_0", "result0", "value0", "v0", "v1", "t0", "state/x", "slot",
  "next", "capture0", "applied", "feed", "fetch", "init", "save", "Sub:0", "value_1", "n0", "in0", "out0", "i0", "o0",
]; // biome-ignore format: a list

const NAMES: readonly string[] = [
  ...new Set([
    ...[32, 64, 127, 255, 1_000].flatMap(alike),
    ...[32, 63, 300].flatMap(alikeAtTheEnd),
    ...OF_OBJECTS,
    ...OF_INTEGERS,
    ...WITH_SIGNS,
    ...OF_ENGINES,
  ]),
];

/** Output k is input k minus input `from[k]`. Inputs and outputs have the same names, in different orders. */
interface Web {
  readonly graph: Graph;
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
  readonly from: readonly number[];
}

function buildWeb(inputs: readonly string[], outputs: readonly string[], from: readonly number[]): Web {
  const builder = new GraphBuilder();
  const values = inputs.map((name) => builder.input(name, valueType("f32", 3), "batch"));
  const results = outputs.map((name, index) => {
    const operands = [values[index], values[from[index] as number]] as [
      (typeof values)[number],
      (typeof values)[number],
    ];
    // Nodes are named like inputs and outputs, too.
    const [result] = builder.emit("Sub", operands, {}, undefined, name === "" ? undefined : name);
    return [name, result as (typeof values)[number]] as const;
  });
  return { graph: builder.finish(new Map(results)), inputs, outputs, from };
}

const randomWeb = (random: RandomSource): Web =>
  buildWeb(
    inAnyOrder(random, NAMES),
    inAnyOrder(random, NAMES),
    NAMES.map(() => random.integer(0, NAMES.length - 1)),
  );

const whole = (random: RandomSource): HostTensor => generate("f32", [3], () => random.integer(-999, 999));

/** Builds a record without literals or assignments, since these would set the prototype for `__proto__`. */
const record = <T>(names: readonly string[], of: (name: string, index: number) => T): Record<string, T> =>
  Object.fromEntries(names.map((name, index) => [name, of(name, index)]));

const own = <T>(record: Readonly<Record<string, T>>, name: string): T | undefined =>
  Object.hasOwn(record, name) ? record[name] : undefined;

const quote = (name: string): string =>
  JSON.stringify(name.length > 80 ? `${name.slice(0, 20)}…${name.slice(-20)}` : name);

/** The expected outputs for the given values of the inputs. */
const expectedResults = (
  { outputs, inputs, from }: Web,
  values: ReadonlyMap<string, HostTensor>,
): ReadonlyMap<string, HostTensor> =>
  new Map(
    outputs.map((name, index) => {
      const [a, b] = [index, from[index] as number].map(
        (at) => values.get(inputs[at] as string)?.data as Float32Array,
      );
      return [name, generate("f32", [3], (place) => Number(a?.[place]) - Number(b?.[place]))];
    }),
  );

const single = buildWeb(["a"], ["b"], [0]).graph;

const values = scriptedCase(
  "names/inputs-and-outputs/are-any-strings",
  single,
  async (backend, { random, seed }) => {
    const web = randomWeb(random);
    await withExecutable(backend, web.graph, async (executable) => {
      for (let run = 0; run < 3; run++) {
        const fed = new Map(inAnyOrder(random, NAMES).map((name) => [name, whole(random)]));
        const inputs: Record<string, RunInput> = Object.fromEntries(fed);
        const uploaded = run === 2 ? await backend.upload(fed.get("__proto__") as HostTensor) : undefined;
        const got = await executable.run(
          uploaded === undefined ? inputs : { ...inputs, ...record(["__proto__"], () => uploaded) },
        );
        uploaded?.dispose();
        for (const [name, want] of expectedResults(web, fed))
          expectSame(own(got, name), want, `the output ${quote(name)} of ${NAMES.length} (seed ${seed})`);
        expectEqual(Object.keys(got).length, NAMES.length, "the number of results");
      }
    });
  },
);

const bound = scriptedCase("names/slots/are-any-strings", single, async (backend, { random, seed }) => {
  const web = randomWeb(random);
  // Each input reads a slot of another name; an output of a third name replaces every second slot.
  const slots = inAnyOrder(random, NAMES);
  const outputs = inAnyOrder(random, web.outputs);
  const bindings = web.inputs.map((input, index): StateBinding => {
    const slot = slots[index] as string;
    return index % 2 === 0 ? { slot, input } : { slot, input, output: outputs[index] as string };
  });
  const held = new Map(slots.map((slot) => [slot, whole(random)]));
  const setup = { graph: web.graph, bindings, values: Object.fromEntries(held) };
  await withState(backend, setup, async (state, executable) => {
    const expectHeld = async (when: string): Promise<void> => {
      const now = await state.read();
      for (const [slot, value] of held)
        expectSame(own(now, slot), value, `the slot ${quote(slot)} ${when} (seed ${seed})`);
      expectEqual(Object.keys(now).length, slots.length, `the number of slots ${when}`);
    };
    await expectHeld("of a new state");
    for (let run = 0; run < 2; run++) {
      const fed = new Map(bindings.map(({ input, slot }) => [input, held.get(slot) as HostTensor]));
      const want = expectedResults(web, fed);
      const got = await executable.run({});
      const taken = new Set(bindings.map(({ output }) => output));
      for (const [name, value] of want)
        if (!taken.has(name))
          expectSame(own(got, name), value, `the output ${quote(name)} beside a state (seed ${seed})`);
      for (const { slot, output } of bindings)
        if (output !== undefined) held.set(slot, want.get(output) as HostTensor);
      await expectHeld(`after run ${run}`);
      const some = inAnyOrder(random, slots).slice(0, 30);
      for (const slot of some) held.set(slot, whole(random));
      await state.write(record(some, (slot) => held.get(slot) as HostTensor));
      await expectHeld("after a write");
      const asked = inAnyOrder(random, slots).slice(0, 30);
      const read = await state.read(asked);
      for (const slot of asked)
        expectSame(
          own(read, slot),
          held.get(slot) as HostTensor,
          `the slot ${quote(slot)}, read among others (seed ${seed})`,
        );
      expectEqual(Object.keys(read).length, asked.length, "the number of slots that were asked for");
    }
  });
});

/** Removes integers, which objects list first in any case. */
const orderly = (names: readonly string[]): readonly string[] =>
  names.filter((name) => !/^(0|[1-9]\d*)$/.test(name));

const order = scriptedCase("names/order/of-results-and-slots", single, async (backend, { random, seed }) => {
  const slots = inAnyOrder(random, orderly(NAMES));
  const state = await backend.createState(record(slots, () => whole(random)));
  const say = `(seed ${seed})`;
  expectEqual(Object.keys(state.types), slots, `the order of a state's types ${say}`);
  expectEqual(Object.keys(await state.read()), slots, `the order in which slots are read ${say}`);
  const asked = inAnyOrder(random, slots).slice(0, 40);
  expectEqual(
    Object.keys(await state.read(asked)),
    asked,
    `the order of the slots that were asked for ${say}`,
  );
  await state.dispose();
  const names = orderly(NAMES);
  const web = buildWeb(
    inAnyOrder(random, names),
    inAnyOrder(random, names),
    names.map((_, index) => index),
  );
  await withExecutable(backend, web.graph, async (executable) => {
    const got = await executable.run(record(inAnyOrder(random, names), () => whole(random)));
    expectEqual(Object.keys(got), web.outputs, `the order of results, which is the graph's, ${say}`);
  });
});

const unknown = scriptedCase(
  "names/of-objects/are-not-there-unless-given",
  single,
  async (backend, { random }) => {
    const state = await backend.createState({ a: whole(random) });
    await withExecutable(backend, single, async (executable) => {
      for (const name of ["__proto__", "constructor", "toString", "hasOwnProperty", "A", "a ", ""]) {
        const text = quote(name);
        await expectCode("MP_INVALID_ARGUMENT", `read of a slot ${text} that is not there`, () =>
          state.read([name]),
        );
        await expectCode("MP_INVALID_ARGUMENT", `write to a slot ${text} that is not there`, () =>
          state.write(record([name], () => whole(random))),
        );
        await expectCode("MP_INVALID_ARGUMENT", `compile with a slot ${text} that is not there`, () =>
          backend.compile(single, { state, bindings: [{ slot: name, input: "a" }] }),
        );
        await expectCode("MP_INVALID_ARGUMENT", `compile with an input ${text} that is not there`, () =>
          backend.compile(single, { state, bindings: [{ slot: "a", input: name }] }),
        );
        await expectCode("MP_INVALID_ARGUMENT", `a run with an input ${text} that is not there`, () =>
          executable.run({ a: whole(random), ...record([name], () => whole(random)) }),
        );
        await expectCode("MP_INVALID_ARGUMENT", `a run without its input, and with ${text}`, () =>
          executable.run(record([name], () => whole(random))),
        );
      }
    });
    const inherited = buildWeb(["toString", "constructor"], ["y", "z"], [1, 0]).graph;
    await withExecutable(backend, inherited, (executable) =>
      expectCode("MP_INVALID_ARGUMENT", "a run without the input constructor", () =>
        executable.run(record(["toString"], () => whole(random))),
      ),
    );
    await state.dispose();
  },
);

export const nameCases: readonly ConformanceCase[] = [values, bound, order, unknown];
