/** Hundreds of slots, inputs, outputs, handles and executables, and thousands of nodes fit an engine's tables. */
import {
  type Executable,
  type Graph,
  GraphBuilder,
  type Handle,
  type HostTensor,
  type StateBinding,
  type Value,
} from "@mp/graph";
import { evaluate } from "@mp/graph/reference";
import type { ConformanceCase } from "../../conformance-case.js";
import { expectEqual } from "../../expectations.js";
import { generate } from "../../host-data.js";
import { inAnyOrder, type RandomSource, randomSource } from "../../random-source.js";
import { at, buildGraph, flag, sum, valueType } from "../../small-graphs.js";
import type { Tensors } from "../kinds/graph-case.js";
import { expectSame, scriptedCase, withExecutable } from "../kinds/scripted-case.js";
import { withState } from "../kinds/with-state.js";

const MANY = 300;

const range = (length: number): readonly number[] => Array.from({ length }, (_, index) => index);

/** The length of a slot, 0 … 7. Slots whose indices differ by 8 or a higher power of two have the same type. */
const lengthOf = (index: number): number => index % 8;

const whole = (random: RandomSource, length: number): HostTensor =>
  generate("f32", [length], () => random.integer(-500, 500));

const wholes = (random: RandomSource): readonly HostTensor[] =>
  range(MANY).map((index) => whole(random, lengthOf(index)));

const named = (stem: string, values: readonly HostTensor[]): Record<string, HostTensor> =>
  Object.fromEntries(values.map((value, index) => [`${stem}${index}`, value]));

/** Output i is slot i plus input i. Of three slots, one is kept, one is always replaced, and one only when applied. */
const wide: Graph = buildGraph({
  inputs: {
    ...Object.fromEntries(range(MANY).map((index) => [`s${index}`, valueType("f32", lengthOf(index))])),
    ...Object.fromEntries(range(MANY).map((index) => [`x${index}`, valueType("f32", lengthOf(index))])),
    go: valueType("bool"),
  },
  outputs: (builder, inputs) => ({
    ...Object.fromEntries(
      range(MANY).map((index) => [
        `y${index}`,
        sum(builder, at(inputs, `s${index}`), at(inputs, `x${index}`)),
      ]),
    ),
    ...Object.fromEntries(range(MANY).map((index) => [`next${index}`, at(inputs, `x${index}`)])),
    go: at(inputs, "go"),
  }),
});

const bindings: readonly StateBinding[] = range(MANY).map((index) => {
  const slot = { slot: `slot ${index}`, input: `s${index}` };
  if (index % 3 === 0) return slot;
  return { ...slot, output: `next${index}`, commit: index % 3 === 1 ? "always" : "when-applied" };
});

const slots = scriptedCase("many/slots/and-inputs-and-outputs", wide, async (backend, { random, seed }) => {
  let held = wholes(random);
  await withState(
    backend,
    { graph: wide, bindings, values: named("slot ", held), applied: "go" },
    async (state, executable) => {
      for (const go of [true, false, true]) {
        const fed = wholes(random);
        const inputs = Object.fromEntries(inAnyOrder(random, Object.entries(named("x", fed))));
        const got = await executable.run({ ...inputs, go: flag(go) });
        const want = evaluate(wide, { ...named("s", held), ...inputs, go: flag(go) });
        const taken = new Set(bindings.map(({ output }) => output));
        for (const [name, value] of Object.entries(want))
          if (!taken.has(name)) expectSame(got[name], value, `${name} of ${MANY} (seed ${seed})`);
        held = held.map((value, index) =>
          index % 3 === 0 || (index % 3 === 2 && !go) ? value : (fed[index] as HostTensor),
        );
        const now = await state.read();
        for (const [index, value] of held.entries())
          expectSame(now[`slot ${index}`], value, `slot ${index} of ${MANY} after a run (seed ${seed})`);
        const some = inAnyOrder(random, range(MANY)).slice(0, 40);
        const written = some.map((index) => whole(random, lengthOf(index)));
        await state.write(
          Object.fromEntries(some.map((index, place) => [`slot ${index}`, written[place] as HostTensor])),
        );
        held = held.map((value, index) => written[some.indexOf(index)] ?? value);
        const asked = inAnyOrder(random, range(MANY)).slice(0, 60);
        const read = await state.read(asked.map((index) => `slot ${index}`));
        expectEqual(Object.keys(read).length, asked.length, "the number of slots that were read");
        for (const index of asked)
          expectSame(
            read[`slot ${index}`],
            held[index] as HostTensor,
            `slot ${index}, read among ${asked.length} (seed ${seed})`,
          );
      }
    },
  );
});

/** x − y, which shows the order of the operands. */
const difference: Graph = buildGraph({
  inputs: { x: valueType("f32", 4), y: valueType("f32", 4) },
  outputs: (builder, inputs) => ({ z: builder.emitOne("Sub", [at(inputs, "x"), at(inputs, "y")], {}) }),
});

const handles = scriptedCase("many/handles/at-once", difference, (backend, { random, seed }) =>
  withExecutable(backend, difference, async (executable) => {
    const before = backend.stats();
    const values = range(MANY).map(() => whole(random, 4));
    const all: (readonly [Handle, HostTensor])[] = [];
    for (const value of values) all.push([await backend.upload(value), value]);
    const expectHeld = async (held: typeof all, when: string): Promise<void> => {
      expectEqual(backend.stats().live - before.live, held.length, `live handles ${when}`);
      for (const [index, [handle, value]] of held.entries())
        expectSame(
          await backend.download(handle),
          value,
          `handle ${index} of ${held.length} ${when} (seed ${seed})`,
        );
    };
    await expectHeld(all, "after all uploads");
    for (const [x, ofX] of inAnyOrder(random, all)) {
      const [y, ofY] = all[random.integer(0, MANY - 1)] as (typeof all)[number];
      const { z } = await executable.run({ x, y });
      const want = generate("f32", [4], (place) => Number(ofX.data[place]) - Number(ofY.data[place]));
      expectSame(z, want, `the difference of two of ${MANY} handles (seed ${seed})`);
    }
    const left = inAnyOrder(random, all);
    while (left.length > 0) {
      for (const [handle] of left.splice(0, 100)) handle.dispose();
      await expectHeld(left, "after others were disposed of");
    }
    expectEqual(backend.stats(), before, "what is held after the end of all handles");
  }),
);

/** Computes a ← a + x + `number`; the output `seen` is the old a. */
const counting = (number: number): Graph =>
  buildGraph({
    inputs: { a: valueType("f32"), x: valueType("f32") },
    outputs: (builder, inputs) => ({
      next: sum(builder, sum(builder, at(inputs, "a"), at(inputs, "x")), builder.literal(number, "f32")),
      seen: at(inputs, "a"),
    }),
  });

const executables = scriptedCase(
  "many/executables/of-one-state",
  counting(1),
  async (backend, { random, seed }) => {
    const scalarOf = (x: number): HostTensor => generate("f32", [], () => x);
    const state = await backend.createState({ a: scalarOf(0) });
    let held = 0;
    const opened: (readonly [number, Executable])[] = [];
    const options = { state, bindings: [{ slot: "a", input: "a", output: "next" }] };
    for (const number of range(MANY)) opened.push([number, await backend.compile(counting(number), options)]);
    // Runs the last 50 and 50 others, because on some engines the first run of each executable takes long.
    const run = [...inAnyOrder(random, opened.slice(0, -50)).slice(0, 50), ...opened.slice(-50)];
    const idle = opened.filter((one) => !run.includes(one));
    for (const share of [1, 2, 5]) {
      for (const [number, executable] of inAnyOrder(random, run)) {
        const x = random.integer(-900, 900);
        const { seen } = await executable.run({ x: scalarOf(x) });
        expectSame(seen, scalarOf(held), `what executable ${number} of ${MANY} saw (seed ${seed})`);
        held += x + number;
      }
      expectSame(
        (await state.read())["a"],
        scalarOf(held),
        `the state after runs of ${run.length} executables`,
      );
      const gone = [...idle.splice(0, MANY / 3), ...run.splice(0, Math.floor(run.length / (share + 1)))];
      for (const [, executable] of gone) await executable.dispose();
    }
    for (const [, executable] of [...idle, ...run]) await executable.dispose();
    await state.dispose();
  },
);

const NODES = 10_000;
const CONSTANTS = 300;

/** Sums and differences of whole numbers that are exact in f32; one wrong node changes all that follow it. */
function longGraph(random: RandomSource): Graph {
  const builder = new GraphBuilder();
  const x = builder.input("x", valueType("f32", 3), "batch");
  const added = range(CONSTANTS).map(() => builder.constant(whole(random, 3)));
  const either = (a: Value, b: Value): Value =>
    builder.emitOne(
      random.integer(0, 3) === 0 ? "Add" : "Sub",
      random.integer(0, 1) === 0 ? [a, b] : [b, a],
      {},
    );
  const pick = (): Value => added[random.integer(0, CONSTANTS - 1)] as Value;
  // All leaves read `early[0]`, and the last nodes read every early value again.
  const early = range(8).map(() => either(pick(), x)) as [Value, ...Value[]];
  let chain = x;
  while (builder.nodes.length < 0.55 * NODES) chain = either(pick(), chain);
  const leaves = range(0.2 * NODES).map(() => either(pick(), early[0]));
  const fan = builder.emitOne("Concat", leaves, { axis: 0 });
  let level = leaves;
  while (level.length > 1)
    level = range(Math.ceil(level.length / 2)).map((index) => {
      const [left, right] = [level[2 * index] as Value, level[2 * index + 1]];
      return right === undefined ? left : either(left, right);
    });
  // Each of these nodes reads the one before, up to the last node of the graph.
  const late: Value[] = [chain];
  while (builder.nodes.length < NODES - early.length) late.push(either(late.at(-1) as Value, pick()));
  for (const value of early) late.push(either(late.at(-1) as Value, value));
  return builder.finish({
    chain,
    fan,
    tree: level[0] as Value,
    middle: late[late.length >> 1] as Value,
    late: late.at(-1) as Value,
  });
}

/** A small graph of all operators of `longGraph`. */
const made: Graph = buildGraph({
  inputs: { x: valueType("f32", 3) },
  outputs: (builder, inputs) => {
    const x = at(inputs, "x");
    const parts = [sum(builder, x, x), builder.emitOne("Sub", [x, x], {})];
    return { y: builder.emitOne("Concat", parts, { axis: 0 }) };
  },
});

const nodes = scriptedCase(
  "many/nodes/ten-thousand-in-one-graph",
  made,
  async (backend, { random, seed }) => {
    const graph = longGraph(randomSource(seed, "ten thousand nodes"));
    await withExecutable(backend, graph, async (executable) => {
      for (let run = 0; run < 2; run++) {
        const x = whole(random, 3);
        const got = await executable.run({ x });
        const want: Tensors = evaluate(graph, { x });
        for (const [name, value] of Object.entries(want))
          expectSame(got[name], value, `${name} of ${graph.nodes.length} nodes (seed ${seed})`);
      }
    });
  },
);

export const manyCases: readonly ConformanceCase[] = [slots, handles, executables, nodes];
