/** Any byte but 0 is true, however the bool is fed and whichever op reads it. */
import {
  type Graph,
  type HostTensor,
  type Op,
  type OpAttributes,
  type RunInput,
  tensor,
  type Value,
} from "@mp/graph";
import type { ConformanceCase } from "../../conformance-case.js";
import { freshGraph } from "../../fresh.js";
import { hostData } from "../../host-data.js";
import { at, buildGraph } from "../../small-graphs.js";
import { expectSame, scriptedCase, withExecutable } from "../kinds/scripted-case.js";

const COUNT = 8;
/** Makes a new tensor at each call, since a faulty backend could write to it. */
const bytes = (): HostTensor => ({
  dtype: "bool",
  shape: [COUNT],
  data: Uint8Array.of(0, 1, 2, 128, 255, 0, 254, 3),
});
const TRUTH = [0, 1, 1, 1, 1, 0, 1, 1];
const OTHER = [1, 1, 0, 1, 0, 0, 1, 1];

const both = (f: (a: number, b: number) => number): readonly number[] =>
  TRUTH.map((truth, index) => f(truth, OTHER[index] ?? 0));

/** Expected results for bytes x, bools y and numbers n. */
const results: Readonly<Record<string, readonly number[]>> = {
  itself: TRUTH,
  not: TRUTH.map((truth) => 1 - truth),
  and: both((a, b) => a & b),
  or: both((a, b) => a | b),
  xor: both((a, b) => a ^ b),
  equal: both((a, b) => (a === b ? 1 : 0)),
  "as f32": TRUTH,
  "as i32": TRUTH,
  "as i64": TRUTH,
  sum: [TRUTH.reduce((sum, truth) => sum + truth, 0)],
  chosen: TRUTH.map((truth, index) => (truth === 1 ? index : -1)),
  turned: [...TRUTH].reverse(),
};

const graph: Graph = buildGraph({
  inputs: { x: { dtype: "bool", shape: [COUNT] }, y: { dtype: "bool", shape: [COUNT] } },
  outputs: (builder, inputs) => {
    const [x, y] = [at(inputs, "x"), at(inputs, "y")];
    const emit = <K extends Op>(op: K, operands: readonly Value[], attributes: OpAttributes[K]): Value =>
      builder.emitOne(op, operands, attributes);
    const places = emit("Range", [], { start: 0, limit: COUNT, delta: 1, dtype: "f32" });
    const number = emit("Cast", [x], { to: "f32" });
    return {
      itself: emit("Identity", [x], {}),
      not: emit("Not", [x], {}),
      and: emit("And", [x, y], {}),
      or: emit("Or", [x, y], {}),
      xor: emit("Xor", [x, y], {}),
      equal: emit("Equal", [x, y], {}),
      "as f32": number,
      "as i32": emit("Cast", [x], { to: "i32" }),
      "as i64": emit("Cast", [x], { to: "i64" }),
      sum: emit("ReduceSum", [number], { axes: [0], keepdims: true }),
      chosen: emit("Where", [x, places, builder.literal(-1, "f32")], {}),
      turned: emit("Slice", [x], { axes: [0], starts: [COUNT - 1], ends: [-1], steps: [-1] }),
    };
  },
});

function checkResults(got: Readonly<Record<string, HostTensor>>, how: string): void {
  for (const [name, numbers] of Object.entries(results)) {
    const dtype = graph.outputs.find((output) => output.name === name)?.value.dtype ?? "bool";
    expectSame(got[name], hostData(dtype, numbers), `${name} of bytes ${how}`);
  }
}

const others = (): HostTensor => hostData("bool", OTHER);

export const booleanByteCases: readonly ConformanceCase[] = [
  scriptedCase("rare/bool/bytes-fed-to-a-run", graph, (backend) =>
    withExecutable(backend, freshGraph(graph), async (executable) => {
      const given: Record<string, RunInput> = { x: bytes(), y: others() };
      checkResults(await executable.run(given), "fed to a run");
    }),
  ),
  scriptedCase("rare/bool/bytes-uploaded", graph, (backend) =>
    withExecutable(backend, freshGraph(graph), async (executable) => {
      const x = await backend.upload(bytes());
      checkResults(await executable.run({ x, y: others() }), "uploaded");
      expectSame(await backend.download(x), hostData("bool", TRUTH), "a download of bytes");
      x.dispose();
    }),
  ),
  scriptedCase("rare/bool/bytes-in-a-state", graph, async (backend) => {
    const state = await backend.createState({ x: bytes() });
    const options = { state, bindings: [{ slot: "x", input: "x" }] };
    await withExecutable(
      backend,
      freshGraph(graph),
      async (executable) => {
        checkResults(await executable.run({ y: others() }), "in a state");
        await state.write({ x: tensor(Uint8Array.from(bytes().data as Uint8Array), [COUNT], "bool") });
        checkResults(await executable.run({ y: others() }), "written to a state");
      },
      options,
    );
    expectSame((await state.read())["x"], hostData("bool", TRUTH), "bytes read from a state");
    await state.dispose();
  }),
];
