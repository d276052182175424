/**
 * Constant states, whose values an engine may compute with at compilation. All numbers are small and whole, or powers
 * of two, so that results are exact whatever the engine folds.
 */
import type { Backend, Graph, HostTensor, State, StateBinding, StateOptions } from "@mp/graph";
import { evaluate } from "@mp/graph/reference";
import type { ConformanceCase } from "../conformance-case.js";
import { expectCode } from "../expectations.js";
import { fresh } from "../fresh.js";
import { overwrite } from "../held-data.js";
import { generate } from "../host-data.js";
import { at, buildGraph, f32, sum, valueType } from "../small-graphs.js";
import { expectSame, scriptedCase, withExecutable } from "./kinds/scripted-case.js";
import type { Values } from "./kinds/with-state.js";

const CONSTANT: StateOptions = { constant: true };
/** Number of channels that fills a block in the blocked layouts of engines. */
const CHANNELS = 16;
const WEIGHTS = ["kernel", "mean", "gain", "bias"];

const window = { strides: [1, 1], pads: [1, 1, 1, 1], dilations: [1, 1], group: 1 };

/** A convolution, a normalization by constants and a sum with the image: engines fold these in served models. */
const normalize = (images: number): Graph =>
  buildGraph({
    inputs: {
      x: valueType("f32", images, CHANNELS, 5, 4),
      kernel: valueType("f32", CHANNELS, CHANNELS, 3, 3),
      ...Object.fromEntries(WEIGHTS.slice(1).map((name) => [name, valueType("f32", CHANNELS, 1, 1)])),
      turn: valueType("i32"),
    },
    outputs: (builder, inputs) => {
      const convolved = builder.emitOne("Conv", [at(inputs, "x"), at(inputs, "kernel")], window);
      const centered = builder.emitOne("Sub", [convolved, at(inputs, "mean")], {});
      const scaled = builder.emitOne("Mul", [centered, at(inputs, "gain")], {});
      const shifted = sum(builder, scaled, at(inputs, "bias"));
      return {
        y: sum(builder, builder.emitOne("Relu", [shifted], {}), at(inputs, "x")),
        gain: at(inputs, "gain"),
        drawn: builder.emitOne("RandomBits", [at(inputs, "turn")], { key: 5n, shape: [3] }),
      };
    },
  });

const whole = (shape: readonly number[], seed: number): HostTensor =>
  generate("f32", shape, (place) => ((place * 7 + seed * 5) % 9) - 4);

const weights = (seed: number): Values => ({
  kernel: whole([CHANNELS, CHANNELS, 3, 3], seed),
  mean: whole([CHANNELS, 1, 1], seed + 1),
  gain: generate("f32", [CHANNELS, 1, 1], (place) => 2 ** (((place + seed) % 4) - 2)),
  bias: whole([CHANNELS, 1, 1], seed + 2),
});

const bindings: readonly StateBinding[] = WEIGHTS.map((name) => ({ slot: name, input: name }));

async function withConstants(
  backend: Backend,
  values: Values,
  body: (state: State) => Promise<void>,
): Promise<void> {
  const state = await backend.createState(values, CONSTANT);
  try {
    await body(state);
  } finally {
    await state.dispose();
  }
}

const running = (backend: Backend, graph: Graph, state: State, values: Values, what: string): Promise<void> =>
  withExecutable(
    backend,
    graph,
    async (executable) => {
      for (const seed of [1, 2]) {
        const x = whole(graph.inputs.find(({ name }) => name === "x")?.value.shape ?? [], seed);
        const turn = generate("i32", [], () => seed);
        const want = evaluate(graph, { ...values, x, turn });
        const held = await backend.upload(x);
        for (const given of [held, x]) {
          const got = await executable.run({ x: given, turn });
          for (const [name, value] of Object.entries(want)) expectSame(got[name], value, `${name} ${what}`);
        }
        held.dispose();
      }
    },
    { state, bindings },
  );

export const constantStateCases: readonly ConformanceCase[] = [
  scriptedCase("constant/weights/are-folded-exactly", normalize(2), (backend) =>
    withConstants(backend, weights(1), async (state) => {
      await running(backend, normalize(2), state, weights(1), "of constant weights");
      for (let reading = 0; reading < 2; reading++)
        for (const [name, value] of Object.entries(await state.read())) {
          expectSame(value, weights(1)[name] as HostTensor, `the slot ${name} of a constant state`);
          overwrite(value);
        }
    }),
  ),
  scriptedCase("constant/weights/are-copied-from-the-callers-arrays", normalize(1), async (backend) => {
    const given = fresh(weights(4));
    await withConstants(backend, given, async (state) => {
      for (const tensor of Object.values(given)) overwrite(tensor);
      const what = "of weights whose arrays were written to";
      await running(backend, normalize(1), state, weights(4), what);
    });
  }),
  scriptedCase("constant/weights/belong-to-their-state", normalize(1), async (backend) => {
    const graph = normalize(1);
    await withConstants(backend, weights(1), (first) =>
      withConstants(backend, weights(2), async (second) => {
        await running(backend, graph, first, weights(1), "of the first state");
        await running(backend, graph, second, weights(2), "of a second state, of the same graph");
      }),
    );
  }),
  scriptedCase("constant/weights/serve-several-shapes", [1, 3].map(normalize), (backend) =>
    withConstants(backend, weights(3), (state) =>
      withExecutable(
        backend,
        normalize(1),
        async (executable) => {
          await running(backend, normalize(3), state, weights(3), "of another shape");
          const x = whole([1, CHANNELS, 5, 4], 4);
          const turn = generate("i32", [], () => 4);
          const want = evaluate(normalize(1), { ...weights(3), x, turn });
          const got = await executable.run({ x, turn });
          expectSame(got["y"], want["y"] as HostTensor, "y after the other shape's program was disposed");
        },
        { state, bindings },
      ),
    ),
  ),
  scriptedCase("constant/state/is-not-written", passing(), (backend) =>
    withConstants(backend, { w: f32(1, 2) }, async (state) => {
      await expectCode("MP_INVALID_ARGUMENT", "write of a constant state", () =>
        state.write({ w: f32(3, 4) }),
      );
      for (const commit of ["always", "when-applied"] as const) {
        const bindings = [{ slot: "w", input: "w", output: "next", commit }];
        await expectCode("MP_INVALID_ARGUMENT", "compile of an output that replaces a constant slot", () =>
          backend.compile(passing(), { state, bindings, applied: "applied" }),
        );
      }
      expectSame((await state.read())["w"], f32(1, 2), "a constant slot after what was refused");
    }),
  ),
];

function passing(): Graph {
  return buildGraph({
    inputs: { w: valueType("f32", 2), x: valueType("f32", 2), applied: valueType("bool") },
    outputs: (builder, inputs) => ({ ...inputs, next: sum(builder, at(inputs, "w"), at(inputs, "x")) }),
  });
}
