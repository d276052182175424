/** A state with one executable, for the cases about states. */
import type { Backend, CompileOptions, Executable, Graph, HostTensor, State, StateBinding } from "@mp/graph";
import { generate, hostData } from "../../host-data.js";
import { at, buildGraph, f32, scalar, sum, valueType } from "../../small-graphs.js";

export type Values = Readonly<Record<string, HostTensor>>;

export interface Setup {
  readonly graph: Graph;
  readonly bindings: readonly StateBinding[];
  readonly values: Values;
  readonly applied?: string;
}

/** Makes a state with one executable, passes both to `body`, and disposes of both. */
export async function withState<R>(
  backend: Backend,
  { graph, bindings, values, applied }: Setup,
  body: (state: State, executable: Executable) => Promise<R>,
): Promise<R> {
  const state = await backend.createState(values);
  try {
    const options: CompileOptions = { state, bindings, ...(applied === undefined ? {} : { applied }) };
    const executable = await backend.compile(graph, options);
    try {
      return await body(state, executable);
    } finally {
      await executable.dispose();
    }
  } finally {
    await state.dispose();
  }
}

export const read: (state: State, name: string) => Promise<number> = async (state, name) =>
  Number((await state.read([name]))[name]?.data[0]);

/** Adds x to the weight when applied, and 1 to the count always; the output `seen` is the old weight. */
export const stepping = (): Setup => ({
  graph: buildGraph({
    inputs: {
      weight: valueType("f32", 2),
      count: valueType("f32"),
      x: valueType("f32", 2),
      go: valueType("bool"),
    },
    outputs: (builder, inputs) => ({
      nextWeight: sum(builder, at(inputs, "weight"), at(inputs, "x")),
      nextCount: sum(builder, at(inputs, "count"), builder.literal(1, "f32")),
      applied: at(inputs, "go"),
      seen: at(inputs, "weight"),
    }),
  }),
  bindings: [
    { slot: "weight", input: "weight", output: "nextWeight", commit: "when-applied" },
    { slot: "count", input: "count", output: "nextCount", commit: "always" },
  ],
  values: { weight: f32(0, 10), count: scalar(0) },
  applied: "applied",
});

/** Gathers at an index that may be out of range; then some engines fail, and others read arbitrary memory. */
export const gathering = (size = 2): Setup => ({
  graph: buildGraph({
    inputs: {
      weight: valueType("f32", size),
      wide: valueType("f32", 2000),
      count: valueType("f32"),
      index: valueType("i32", 2),
    },
    outputs: (builder, inputs) => ({
      nextWide: sum(builder, at(inputs, "wide"), builder.literal(1, "f32")),
      drawn: builder.emitOne("RandomBits", [builder.literal(3, "i32")], { key: 5n, shape: [3] }),
      nextCount: sum(builder, at(inputs, "count"), builder.literal(1, "f32")),
      nextWeight: builder.emitOne("Gather", [at(inputs, "weight"), at(inputs, "index")], { axis: 0 }),
      seen: at(inputs, "weight"),
    }),
  }),
  bindings: [
    { slot: "weight", input: "weight", output: "nextWeight" },
    { slot: "count", input: "count", output: "nextCount" },
    { slot: "wide", input: "wide", output: "nextWide" },
  ],
  values: { weight: f32(1, 2), count: scalar(0), wide: generate("f32", [2000], () => 0) },
});

export const INSIDE = (): Values => ({ index: hostData("i32", [1, 0]) });
export const OUTSIDE = (): Values => ({ index: hostData("i32", [0, 1_000_000]) });
