/** Ownership of arrays. No array that a backend takes or returns is a live view of the other side's memory. */
import type { DType, Graph, HostTensor } from "@mp/graph";
import type { ConformanceCase } from "../conformance-case.js";
import { fresh } from "../fresh.js";
import { embed, expectUntouched, overwrite } from "../held-data.js";
import { countUp } from "../samples/op-sample.js";
import { at, buildGraph, valueType } from "../small-graphs.js";
import { expectSame, scriptedCase, withExecutable } from "./kinds/scripted-case.js";
import { type Setup, withState } from "./kinds/with-state.js";

/** Lengths of arrays: one, a few, more than a page; for one dtype of each element size also more than 2^16. */
const arrayLengths = (dtype: DType): readonly number[] =>
  ["f32", "f16", "u8"].includes(dtype) ? [1, 3, 1031, 66_000] : [1, 3, 1031];

/** A graph of operations that pass data on, which an engine may do without a copy. */
function passing(dtype: DType, length: number): Graph {
  return buildGraph({
    inputs: { x: valueType(dtype, length), y: valueType(dtype, length) },
    outputs: (builder, inputs) => {
      const [x, y] = [at(inputs, "x"), at(inputs, "y")];
      return {
        passed: x,
        again: x,
        other: y,
        reshaped: builder.emitOne("Reshape", [x], { shape: [length, 1] }),
        joined: builder.emitOne("Concat", [x, y], { axis: 0 }),
      };
    },
  });
}

type Values = Readonly<Record<string, HostTensor>>;

/** The expected results of `passing` for x and y. */
function passOn(x: HostTensor, y: HostTensor): Values {
  const { dtype, data } = x;
  const joined = new (data.constructor as new (length: number) => Float32Array)(2 * data.length);
  joined.set(data as Float32Array);
  joined.set(y.data as Float32Array, data.length);
  return fresh({
    passed: x,
    again: x,
    other: y,
    reshaped: { ...x, shape: [data.length, 1] },
    joined: { dtype, shape: [joined.length], data: joined },
  } as unknown as Values);
}

function expectAll(got: Values, want: Values, what: (name: string) => string): void {
  for (const [name, tensor] of Object.entries(want)) expectSame(got[name], tensor, what(name));
}

/** A state with two slots of one type; a run returns the value of `kept` and replaces it by the input. */
function replacing(dtype: DType, length: number, values: Values): Setup {
  const type = valueType(dtype, length);
  return {
    graph: buildGraph({
      inputs: { kept: type, beside: type, fed: type },
      outputs: (_, inputs) => ({
        seen: at(inputs, "kept"),
        besides: at(inputs, "beside"),
        next: at(inputs, "fed"),
        same: at(inputs, "fed"),
      }),
    }),
    bindings: [
      { slot: "kept", input: "kept", output: "next" },
      { slot: "beside", input: "beside" },
    ],
    values,
  };
}

const graphsOf = (dtype: DType): readonly Graph[] =>
  arrayLengths(dtype).map((length) => passing(dtype, length));

function eachLength(
  id: string,
  dtype: DType,
  run: (length: number, ...parts: Parameters<ConformanceCase["run"]>) => Promise<void>,
): ConformanceCase {
  return scriptedCase(`aliasing/${dtype}/${id}`, graphsOf(dtype), async (...parts) => {
    for (const length of arrayLengths(dtype)) await run(length, ...parts);
  });
}

const results = (dtype: DType): readonly ConformanceCase[] => [
  eachLength("results-belong-to-the-caller", dtype, async (length, backend) => {
    const graph = passing(dtype, length);
    await withExecutable(backend, graph, (executable) =>
      withExecutable(backend, graph, async (another) => {
        const [x, y] = [countUp(dtype, [length]), countUp(dtype, [length], 5)];
        const inputs = fresh({ x, y });
        const got = await executable.run(inputs);
        const want = passOn(x, y);
        expectAll(got, want, (name) => `${name} of ${length}`);
        for (const input of Object.values(inputs)) overwrite(input);
        expectAll(
          got,
          want,
          (name) => `${name} of ${length}, after the arrays that were fed were written to,`,
        );
        const [z, w] = [countUp(dtype, [length], 1), countUp(dtype, [length], 3)];
        for (const each of [executable, another, executable]) await each.run(fresh({ x: z, y: w }));
        expectAll(got, want, (name) => `${name} of ${length}, after later runs,`);
        const fed = fresh({ x: z, y: w });
        const last = await executable.run(fed);
        const left: Record<string, HostTensor> = { ...passOn(z, w) };
        for (const name of Object.keys(left)) {
          overwrite(last[name]);
          delete left[name];
          expectAll(last, left, (other) => `${other} of ${length}, after the result ${name} was written to,`);
          for (const [input, tensor] of Object.entries({ x: z, y: w }))
            expectSame(
              fed[input as "x"],
              tensor,
              `the array fed as ${input}, after the result ${name} was written to,`,
            );
        }
      }),
    );
  }),
  eachLength("handles-keep-what-was-uploaded", dtype, async (length, backend) => {
    const x = countUp(dtype, [length]);
    const handle = await backend.upload(fresh(x));
    await withExecutable(backend, passing(dtype, length), async (executable) => {
      const got = await executable.run({ x: handle, y: handle });
      for (const tensor of Object.values(got)) overwrite(tensor);
      overwrite(await backend.download(handle));
      expectSame(
        await backend.download(handle),
        x,
        `a handle of ${length}, after results and a download were written to,`,
      );
      const again = await executable.run({ x: handle, y: handle });
      expectAll(again, passOn(x, x), (name) => `${name} of the handle's next run`);
    });
    handle.dispose();
  }),
  eachLength("one-array-uploaded-twice-is-two-handles", dtype, async (length, backend) => {
    const x = countUp(dtype, [length]);
    const source = fresh(x);
    const [first, second] = [await backend.upload(source), await backend.upload(source)];
    first.dispose();
    const third = await backend.upload(countUp(dtype, [length], 4));
    expectSame(
      await backend.download(second),
      x,
      `a handle of ${length}, after another of the same array ended,`,
    );
    second.dispose();
    third.dispose();
  }),
  eachLength("one-array-under-two-inputs", dtype, async (length, backend) => {
    await withExecutable(backend, passing(dtype, length), async (executable) => {
      const x = countUp(dtype, [length]);
      const one = fresh(x);
      const twin = { ...one };
      expectAll(
        await executable.run({ x: one, y: one }),
        passOn(x, x),
        (name) => `${name} of one tensor fed twice`,
      );
      expectAll(
        await executable.run({ x: one, y: twin }),
        passOn(x, x),
        (name) => `${name} of one array in two tensors`,
      );
      // Two parts of one buffer that begin one element apart.
      const buffer = countUp(dtype, [length + 1]);
      const part = (start: number): HostTensor =>
        ({ dtype, shape: [length], data: buffer.data.subarray(start, start + length) }) as HostTensor;
      const want = passOn(fresh(part(0)), fresh(part(1)));
      expectAll(
        await executable.run({ x: part(0), y: part(1) }),
        want,
        (name) => `${name} of two parts of one buffer`,
      );
    });
  }),
];

const views = (dtype: DType): readonly ConformanceCase[] => [
  eachLength("runs-read-a-view-where-it-is", dtype, async (length, backend) => {
    await withExecutable(backend, passing(dtype, length), async (executable) => {
      const [x, y] = [countUp(dtype, [length]), countUp(dtype, [length], 5)];
      for (const [before, after] of [
        [1, 0],
        [3, 2],
        [0, 5],
      ] as const) {
        const [a, b] = [embed(x, before, after), embed(y, before + 1, after)];
        const feed = { x: a.tensor, y: b.tensor };
        // The second run waits for the first, which may use another path for inputs.
        for (const got of await Promise.all([executable.run(feed), executable.run(feed)]))
          expectAll(
            got,
            passOn(x, y),
            (name) => `${name} of views that begin at element ${before} and ${before + 1}`,
          );
        expectUntouched(a.tensor, x, `x of ${length} at element ${before}`);
        a.expectSurroundings("a run");
        b.expectSurroundings("a run");
      }
    });
  }),
  eachLength("states-read-a-view-where-it-is", dtype, async (length, backend) => {
    const [x, y] = [countUp(dtype, [length]), countUp(dtype, [length], 5)];
    const [a, b, c] = [embed(x, 3, 2), embed(y, 1, 1), embed(x, 2, 0)];
    await withState(
      backend,
      replacing(dtype, length, { kept: a.tensor, beside: b.tensor }),
      async (state, executable) => {
        expectAll(await state.read(), { kept: x, beside: y }, (name) => `${name}, created of a view,`);
        await state.write({ kept: b.tensor, beside: c.tensor });
        expectAll(await state.read(), { kept: y, beside: x }, (name) => `${name}, written of a view,`);
        const running = executable.run({ fed: a.tensor });
        const writing = state.write({ kept: b.tensor, beside: c.tensor });
        await Promise.all([running, writing]);
        expectAll(
          await state.read(),
          { kept: y, beside: x },
          (name) => `${name}, written of a view behind a run,`,
        );
        for (const each of [a, b, c]) each.expectSurroundings("a state");
      },
    );
  }),
];

const states = (dtype: DType): readonly ConformanceCase[] => [
  eachLength("states-are-nobodys-view", dtype, async (length, backend) => {
    const [x, y, z] = [0, 5, 2].map((offset) => countUp(dtype, [length], offset)) as [
      HostTensor,
      HostTensor,
      HostTensor,
    ];
    const setup = replacing(dtype, length, fresh({ kept: x, beside: y }));
    await withState(backend, setup, async (state, executable) => {
      for (const value of Object.values(setup.values)) overwrite(value);
      const early = await state.read();
      expectAll(early, { kept: x, beside: y }, (name) => `${name}, whose source was written to,`);
      const fed = fresh(z);
      const { seen, besides, same } = await executable.run({ fed });
      expectAll({ seen, besides, same } as Values, { seen: x, besides: y, same: z }, (name) => name);
      expectAll(
        early,
        { kept: x, beside: y },
        (name) => `what was read of ${name} before a commit, after it,`,
      );
      for (const tensor of [fed, seen, besides, same, early["beside"], early["kept"]]) overwrite(tensor);
      const now = await state.read();
      expectAll(
        now,
        { kept: z, beside: y },
        (name) => `${name}, after what was fed, given and read was written to,`,
      );
      overwrite(now["kept"]);
      overwrite(now["beside"]);
      const next = await executable.run({ fed: fresh(x) });
      expectAll(
        next,
        { seen: z, besides: y, same: x },
        (name) => `${name} of the run after a read was written to`,
      );
    });
  }),
  eachLength("one-array-in-two-slots-is-two-values", dtype, async (length, backend) => {
    const [x, y, z] = [0, 5, 2].map((offset) => countUp(dtype, [length], offset)) as [
      HostTensor,
      HostTensor,
      HostTensor,
    ];
    const one = fresh(x);
    await withState(
      backend,
      replacing(dtype, length, { kept: one, beside: one }),
      async (state, executable) => {
        await executable.run({ fed: fresh(y) });
        expectAll(
          await state.read(),
          { kept: y, beside: x },
          (name) => `${name} of two slots made of one array`,
        );
        const both = fresh(z);
        await state.write({ kept: both, beside: both });
        await state.write({ kept: fresh(x) });
        expectAll(
          await state.read(),
          { kept: x, beside: z },
          (name) => `${name} of two slots written from one array`,
        );
      },
    );
  }),
];

/** A dtype of each size, and those whose arrays are of another kind. */
const ALIASED: readonly DType[] = ["f32", "f16", "i32", "i64", "u8"];

export const aliasingCases: readonly ConformanceCase[] = ALIASED.flatMap((dtype) => [
  ...results(dtype),
  ...views(dtype),
  ...states(dtype),
]);
