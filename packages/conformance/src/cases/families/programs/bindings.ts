/** One graph compiled many times, with other slots, commits, flags and states, and for states that come and go. */
import type { Backend, CompileOptions, Executable, Graph, HostTensor, State, StateBinding } from "@mp/graph";
import { evaluate } from "@mp/graph/reference";
import type { CaseContext, ConformanceCase } from "../../../conformance-case.js";
import { freshGraph } from "../../../fresh.js";
import { generate } from "../../../host-data.js";
import type { RandomSource } from "../../../random-source.js";
import { at, buildGraph, f32, flag, sum, valueType } from "../../../small-graphs.js";
import type { Tensors } from "../../kinds/graph-case.js";
import { expectSame, scriptedCase } from "../../kinds/scripted-case.js";

const graph: Graph = buildGraph({
  inputs: {
    a: valueType("f32", 3),
    b: valueType("f32", 3),
    x: valueType("f32", 3),
    p: valueType("bool"),
    q: valueType("bool"),
  },
  outputs: (builder, inputs) => ({
    sum: sum(builder, at(inputs, "a"), at(inputs, "x")),
    difference: builder.emitOne("Sub", [at(inputs, "b"), at(inputs, "x")], {}),
    seen: builder.emitOne("Sub", [at(inputs, "a"), at(inputs, "b")], {}),
    p: at(inputs, "p"),
    q: at(inputs, "q"),
  }),
});

/** A state and the values that its slots must hold. */
interface Held {
  readonly state: State;
  readonly values: Record<string, HostTensor>;
}

const STATES = ["first", "second", "constant", "another constant"] as const;
type StateName = (typeof STATES)[number];

interface Way {
  readonly place?: StateName;
  readonly bindings?: readonly StateBinding[];
  readonly applied?: string;
}

const both = (
  [a, b]: readonly [string, string],
  [forA, forB]: readonly [string, string] | readonly [] = [],
  [ofA, ofB]: readonly [StateBinding["commit"], StateBinding["commit"]] = ["always", "always"],
): readonly StateBinding[] => [
  { slot: a, input: "a", ...(forA === undefined ? {} : { output: forA, commit: ofA }) } as StateBinding,
  { slot: b, input: "b", ...(forB === undefined ? {} : { output: forB, commit: ofB }) } as StateBinding,
];

const NEXT = ["sum", "difference"] as const;

/** Compile options; each entry differs from another entry in one place. */
const WAYS: readonly Way[] = [
  {},
  { place: "first", bindings: both(["a", "b"], NEXT) },
  { place: "first", bindings: both(["b", "a"], NEXT) },
  { place: "first", bindings: both(["a", "b"], ["difference", "sum"]) },
  { place: "first", bindings: both(["a", "b"], NEXT, ["when-applied", "always"]), applied: "p" },
  { place: "first", bindings: both(["a", "b"], NEXT, ["when-applied", "always"]), applied: "q" },
  { place: "first", bindings: both(["a", "b"], NEXT, ["always", "when-applied"]), applied: "p" },
  { place: "first", bindings: both(["a", "b"], NEXT, ["when-applied", "when-applied"]), applied: "p" },
  { place: "first", bindings: both(["a", "b"]) },
  { place: "first", bindings: both(["a", "b"]).slice(0, 1) },
  { place: "first", bindings: both(["a", "b"], NEXT).slice(0, 1) },
  { place: "first", bindings: both(["c", "d"], NEXT) },
  { place: "first", bindings: both(["a", "d"], NEXT) },
  { place: "second", bindings: both(["a", "b"], NEXT) },
  { place: "second", bindings: both(["a", "b"]) },
  { place: "constant", bindings: both(["a", "b"]) },
  { place: "another constant", bindings: both(["a", "b"]) },
];

const whole = (random: RandomSource): HostTensor => generate("f32", [3], () => random.integer(-99, 99));

async function statesFor(backend: Backend, random: RandomSource): Promise<ReadonlyMap<StateName, Held>> {
  const held = new Map<StateName, Held>();
  for (const place of STATES) {
    const constant = place.endsWith("constant");
    const values = Object.fromEntries(["a", "b", "c", "d"].map((slot) => [slot, whole(random)]));
    const before = held.get("constant")?.values["a"];
    // Two constant states that differ in one element of one slot.
    if (before !== undefined) {
      const [x = 0, y = 0, z = 0] = before.data as Float32Array;
      Object.assign(values, held.get("constant")?.values, { a: f32(x, y, z + 1) });
    }
    held.set(place, { state: await backend.createState(values, { constant }), values });
  }
  return held;
}

const said = ({ place, bindings = [], applied }: Way): string =>
  `${place ?? "no"} state, ${bindings.map(({ slot, input, output, commit }) => `${slot}→${input} ${output ?? "kept"} ${commit ?? ""}`).join(", ")}, ${applied ?? "no flag"}`;

/** Runs once and compares the results and the new values of the state. */
async function expectStep(
  executable: Executable,
  way: Way,
  held: Held | undefined,
  random: RandomSource,
  when: string,
): Promise<void> {
  const { bindings = [], applied } = way;
  const bound = Object.fromEntries(
    bindings.map(({ slot, input }) => [input, held?.values[slot] as HostTensor]),
  );
  const fed: Tensors = {
    ...Object.fromEntries(["a", "b"].filter((name) => !(name in bound)).map((name) => [name, whole(random)])),
    x: whole(random),
    p: flag(random.integer(0, 1) === 1),
    q: flag(random.integer(0, 1) === 1),
  };
  const want = evaluate(graph, { ...fed, ...bound });
  const got = await executable.run(fed);
  const taken = new Set(bindings.map(({ output }) => output));
  for (const [name, value] of Object.entries(want))
    if (!taken.has(name)) expectSame(got[name], value, `${name} of the program with ${said(way)}, ${when},`);
  const isApplied = applied !== undefined && want[applied]?.data[0] === 1;
  for (const { slot, output, commit } of bindings)
    if (held !== undefined && output !== undefined && (commit !== "when-applied" || isApplied))
      held.values[slot] = want[output] as HostTensor;
  const now = (await held?.state.read()) ?? {};
  for (const [slot, value] of Object.entries(held?.values ?? {}))
    expectSame(now[slot], value, `slot ${slot} after the program with ${said(way)}, ${when},`);
}

async function expectWays(
  backend: Backend,
  ways: readonly Way[],
  graphs: readonly Graph[],
  states: ReadonlyMap<StateName, Held>,
  { random, seed }: Pick<CaseContext, "random" | "seed">,
): Promise<void> {
  const findHeld = ({ place }: Way): Held | undefined =>
    place === undefined ? undefined : states.get(place);
  const opened: { readonly way: Way; readonly executable: Executable }[] = [];
  const step = (one: (typeof opened)[number], when: string): Promise<void> =>
    expectStep(one.executable, one.way, findHeld(one.way), random, `${when}; seed ${seed}`);
  for (const [index, way] of ways.entries()) {
    const { bindings, applied } = way;
    const state = findHeld(way)?.state;
    const options: CompileOptions = {
      ...(state === undefined ? {} : { state }),
      ...(bindings === undefined ? {} : { bindings }),
      ...(applied === undefined ? {} : { applied }),
    };
    const executable = await backend.compile(graphs[index % graphs.length] ?? graph, options);
    opened.push({ way, executable });
    await step({ way, executable }, "just compiled");
  }
  for (let turn = 0; turn < 3 * opened.length; turn++)
    await step(opened[random.integer(0, opened.length - 1)] as (typeof opened)[number], "in any order");
  for (const { executable } of opened.filter((_, index) => index % 2 === 0)) await executable.dispose();
  for (const one of opened.filter((_, index) => index % 2 === 1)) await step(one, "after others have ended");
  for (const { executable } of opened) await executable.dispose();
}

/** Number of states that are made and disposed of in turn; a new one may get the address of the one before. */
const LIVES = 6;

export const bindingCases: readonly ConformanceCase[] = [
  scriptedCase("program/bindings/of-one-graph", graph, async (backend, context) => {
    // First all compilations share one graph object, then they get equal graphs, too.
    const turns = [
      { ways: WAYS, graphs: [graph] },
      { ways: WAYS.toReversed(), graphs: [graph, freshGraph(graph), freshGraph(graph)] },
    ];
    for (const { ways, graphs } of turns) {
      const states = await statesFor(backend, context.random);
      await expectWays(backend, ways, graphs, states, context);
      for (const { state } of states.values()) await state.dispose();
    }
  }),
  scriptedCase("program/state/takes-the-place-of-another", graph, async (backend, { random, seed }) => {
    for (const constant of [false, true]) {
      for (let life = 0; life < LIVES; life++) {
        const values = { a: whole(random), b: whole(random) };
        const state = await backend.createState(values, { constant });
        const way: Way = { place: constant ? "constant" : "first", bindings: both(["a", "b"]) };
        const executable = await backend.compile(graph, { state, bindings: both(["a", "b"]) });
        const when = `in place of ${life} states that ended; seed ${seed}`;
        await expectStep(executable, way, { state, values }, random, when);
        // In every other life the executable ends before its state, otherwise after it.
        if (life % 2 === 0) await executable.dispose();
        await state.dispose();
        await executable.dispose();
      }
    }
  }),
];
