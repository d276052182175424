/**
 * Random chains of ops that pass data on and ops that compute. An engine that works in place must know the owner of an
 * operand's array, even through many views.
 */
import { type Graph, GraphBuilder, type HostTensor, printGraph, type Value } from "@mp/graph";
import { evaluate } from "@mp/graph/reference";
import { EXACT } from "../compare/allowance.js";
import { compareTensors } from "../compare/compare-tensors.js";
import type { ConformanceCase } from "../conformance-case.js";
import { fail } from "../expectations.js";
import { fresh, freshGraph } from "../fresh.js";
import { sameBits } from "../held-data.js";
import { generate } from "../host-data.js";
import { type RandomSource, randomSource } from "../random-source.js";
import { valueType } from "../small-graphs.js";
import { scriptedCase } from "./kinds/scripted-case.js";
import { withState } from "./kinds/with-state.js";

const CHAINS = 24;
const NODES = 14;
const SHAPE = [2, 6];

/** A link's result, or a function that makes it of views which are held until later. */
type Made = Value | (() => Value);
type Link = (builder: GraphBuilder, pick: () => Value, random: RandomSource) => Made;

/** Operators that an engine may compute in place. Shaders define each for all numbers here, so that none gives NaN. */
const FUNCTIONS = ["Exp", "Tanh", "Sigmoid", "Softplus", "Floor"] as const;

/** Holds views of a value that a function of it reads last, and reads the views later. */
const holding =
  (view: (builder: GraphBuilder, x: Value) => () => Value): Link =>
  (builder, pick, random) => {
    const x = builder.emitOne("Neg", [pick()], {});
    const later = view(builder, x);
    const op = FUNCTIONS[random.integer(0, FUNCTIONS.length - 1)] as "Exp";
    const isLost = builder.emitOne("IsNaN", [builder.emitOne(op, [x], {})], {});
    return () => builder.emitOne("Where", [isLost, builder.emitOne("Abs", [later()], {}), later()], {});
  };

/** Links of a chain: nodes with a result [2, 6] of small whole numbers, exact on every engine. */
const LINKS: readonly Link[] = [
  (builder, pick) => builder.emitOne("Identity", [pick()], {}),
  (builder, pick) => builder.emitOne("Barrier", [pick(), pick()], {}),
  (builder, pick) =>
    builder.emitOne("Reshape", [builder.emitOne("Reshape", [pick()], { shape: [12] })], { shape: SHAPE }),
  (builder, pick) =>
    builder.emitOne("Transpose", [builder.emitOne("Transpose", [pick()], { perm: [1, 0] })], {
      perm: [1, 0],
    }),
  (builder, pick) => {
    const x = pick();
    const part = (start: number): Value =>
      builder.emitOne("Slice", [x], { axes: [0], starts: [start], ends: [start + 1], steps: [1] });
    return builder.emitOne("Concat", [part(1), part(0)], { axis: 0 });
  },
  holding((builder, x) => {
    const flat = builder.emitOne("Reshape", [x], { shape: [12] });
    return () => builder.emitOne("Reshape", [flat], { shape: SHAPE });
  }),
  holding((builder, x) => {
    const parts = builder.emit("Split", [x], { axis: 0, split: [1, 1] });
    return () => builder.emitOne("Concat", parts.toReversed(), { axis: 0 });
  }),
  (builder, pick) => builder.emitOne("Expand", [pick()], { shape: SHAPE }),
  (builder, pick) => builder.emitOne("Neg", [pick()], {}),
  (builder, pick) => builder.emitOne("Abs", [pick()], {}),
  (builder, pick) => builder.emitOne("Relu", [pick()], {}),
  (builder, pick) => builder.emitOne("Clip", [pick()], { min: -40, max: 40 }),
  (builder, pick) => builder.emitOne("Max", [pick(), pick()], {}),
  (builder, pick) =>
    builder.emitOne("Clip", [builder.emitOne("Add", [pick(), pick()], {})], { min: -40, max: 40 }),
];

/** Links of only the most common operators, for engines that have few. Sums of whole numbers stay exact in f32. */
const COMMON_LINKS: readonly Link[] = [
  (builder, pick) =>
    builder.emitOne("Reshape", [builder.emitOne("Reshape", [pick()], { shape: [12] })], { shape: SHAPE }),
  (builder, pick) => {
    const flat = builder.emitOne("Reshape", [pick()], { shape: [12] });
    return builder.emitOne("Reshape", [builder.emitOne("Add", [flat, flat], {})], { shape: SHAPE });
  },
  (builder, pick) => builder.emitOne("Add", [pick(), pick()], {}),
  (builder, pick) => builder.emitOne("Sub", [pick(), pick()], {}),
];

/** `fed` is host data, `held` a handle, `kept` a slot of the state. */
const SOURCES = ["fed", "held", "kept"] as const;

function chain(links: readonly Link[], random: RandomSource): Graph {
  const builder = new GraphBuilder();
  const values: Value[] = SOURCES.map((name) => builder.input(name, valueType("f32", ...SHAPE), "batch"));
  const outputs: Record<string, Value> = {};
  const waiting: (() => Value)[] = [];
  for (let node = 0; node < NODES || waiting.length > 0; node++) {
    // The latest result, or a source, is picked more often, because in-place work happens on short-lived values.
    const pick = (): Value => {
      const place = random.integer(0, 5) < 2 ? random.integer(0, 2) : random.integer(0, values.length - 1);
      return values[random.integer(0, 2) === 0 ? values.length - 1 : place] as Value;
    };
    const isLater = node >= NODES || random.integer(0, 3) === 0;
    const held = isLater ? waiting.shift() : undefined;
    const made = held?.() ?? (links[random.integer(0, links.length - 1)] as Link)(builder, pick, random);
    if (typeof made === "function") {
      waiting.push(made);
      continue;
    }
    values.push(made);
    if (random.integer(0, 2) === 0 || node >= NODES - 1) outputs[`node${node}`] = made;
  }
  return builder.finish(outputs);
}

const whole = (random: RandomSource): HostTensor => generate("f32", SHAPE, () => random.integer(-9, 9));

/** A graph with one result for each of the links, and for each function that they draw. */
const allOf = (links: readonly Link[]): Graph => {
  const builder = new GraphBuilder();
  const x = builder.input("x", valueType("f32", ...SHAPE), "batch");
  if (links === LINKS) for (const op of FUNCTIONS) builder.emitOne(op, [x], {});
  return builder.finish(
    Object.fromEntries(
      links.map((link, index) => {
        const made = link(builder, () => x, randomSource(0, ""));
        return [`link${index}`, typeof made === "function" ? made() : made];
      }),
    ),
  );
};

const chainCase = (behaviour: string, links: readonly Link[]): ConformanceCase =>
  scriptedCase(`aliasing/chains/${behaviour}`, allOf(links), async (backend, { random, seed }) => {
    for (let turn = 0; turn < CHAINS; turn++) {
      const graph = chain(links, random);
      const values = Object.fromEntries(SOURCES.map((name) => [name, whole(random)])) as Record<
        (typeof SOURCES)[number],
        HostTensor
      >;
      const want = evaluate(graph, values);
      const say = (what: string): never =>
        fail(`${what}, in chain ${turn} of seed ${seed}:\n${printGraph(graph)}`);
      const held = await backend.upload(fresh(values.held));
      const fed = fresh(values.fed);
      const setup = {
        graph: freshGraph(graph),
        bindings: [{ slot: "w", input: "kept" }],
        values: { w: fresh(values.kept) },
      };
      await withState(backend, setup, async (state, executable) => {
        for (let run = 0; run < 2; run++) {
          const got = await executable.run({ fed, held });
          if (!sameBits(fed, values.fed)) say(`run ${run} worked in the caller's array`);
          if (!sameBits(await backend.download(held), values.held))
            say(`run ${run} worked in a handle's memory`);
          const { w } = await state.read();
          if (w === undefined || !sameBits(w, values.kept))
            say(`run ${run} worked in the memory of a slot that it only reads`);
          for (const [name, tensor] of Object.entries(want)) {
            const mismatch = compareTensors(got[name], tensor, { ...EXACT, signedZero: false });
            if (mismatch !== undefined) say(`run ${run}: ${name} ${mismatch}`);
          }
        }
      });
      held.dispose();
    }
  });

export const aliasingChainCases: readonly ConformanceCase[] = [
  chainCase("work-in-nobodys-array", LINKS),
  chainCase("of-common-operators", COMMON_LINKS),
];
