// A backend whose library has tensors of its own, which users put into batches as they are.

import { type Backend, type HostTensor, MpError, type RunInput, tensor } from "@mp/graph";
import { reference } from "@mp/graph/reference";
import { describe, expect, it } from "vitest";
import type { EngineTensor } from "../../../graph/src/contract/backend.js";
import { arrayBackend } from "../../../graph/test/array-backend.js";
import { tinyBackend } from "../../../graph/test/tiny-backend.js";
import { batch, smallRun, stateOf } from "../small-run.js";

/** A tensor as a library has it: its own names for dtypes, and memory that somebody frees. */
class LibraryTensor implements EngineTensor {
  readonly dtype: string;
  readonly shape: number[];
  readonly values: Float32Array;
  isDisposed = false;
  constructor({ shape, data }: HostTensor<"f32">, dtype = "float32") {
    this.dtype = dtype;
    this.shape = [...shape];
    this.values = data;
  }
  dispose(): void {
    this.isDisposed = true;
  }
}

type Adopting = Backend & { readonly asked: object[] };

/** The oracle with tensors of a library, taken as `view` says. */
async function libraryBackend(view: (own: LibraryTensor) => RunInput): Promise<Adopting> {
  const inner = await reference();
  const asked: object[] = [];
  return {
    name: "library",
    asked,
    specVersion: "v1",
    manifest: { ...inner.manifest, adopt: true },
    compile: (graph, options) => inner.compile(graph, options),
    createState: (values) => inner.createState(values),
    upload: (value) => inner.upload(value),
    download: (handle) => inner.download(handle),
    stats: () => inner.stats(),
    dispose: () => inner.dispose(),
    adopt(value) {
      this.asked.push(value);
      if (!(value instanceof LibraryTensor)) return undefined;
      if (value.isDisposed) throw new MpError("MP_DISPOSED", "library: the tensor has been disposed");
      if (value.dtype !== "float32")
        throw new MpError("MP_UNSUPPORTED", `library: there is no ${value.dtype} here`);
      return view(value);
    },
  } as Adopting;
}
const onHost = ({ shape, values }: LibraryTensor): RunInput => tensor(values, shape);
const library = (step: number, rows = 4): { readonly x: LibraryTensor; readonly y: LibraryTensor } => {
  const { x, y } = batch(step, rows);
  return { x: new LibraryTensor(x), y: new LibraryTensor(y) };
};

describe("a backend that adopts its library's tensors", () => {
  it("trains on them as on host data, in every call that takes a batch, and disposes of none", async () => {
    const backend = await libraryBackend(onHost);
    const training = await smallRun({ backend });
    const plain = await smallRun();
    const data = library(0);
    for (let step = 0; step < 2; step++) {
      expect(await training.step(data)).toEqual(await plain.step(batch(0)));
    }
    expect(await training.step({ x: data.x, y: batch(0).y })).toEqual(await plain.step(batch(0)));
    expect(await training.evaluate(data)).toEqual(await plain.evaluate(batch(0)));
    expect(training.graph(data).nodes).toHaveLength(plain.graph(batch(0)).nodes.length);
    expect(training.explain(data).hash).toBe(plain.explain(batch(0)).hash);
    expect(await training.diagnose([data])).toBeUndefined();
    const predict = (_: unknown, { x }: { x: unknown }): never => ({ x }) as never;
    expect((await training.predict(predict, { x: data.x } as never)) as unknown).toEqual({ x: batch(0).x });
    expect([data.x.isDisposed, data.y.isDisposed]).toEqual([false, false]);
    expect(await stateOf(training)).toEqual(await stateOf(plain));
    expect(training.warnings).toEqual(plain.warnings);
  });

  it("trains on data that streams by, partial batches and windows included", async () => {
    async function* stream(): AsyncGenerator<{ x: LibraryTensor; y: LibraryTensor }> {
      for (let step = 0; step < 4; step++) yield library(step);
      yield library(4, 2);
    }
    const training = await smallRun({ backend: await libraryBackend(onHost), accumulate: 2 });
    const plain = await smallRun({ accumulate: 2 });
    expect(await training.fit(stream())).toMatchObject({ made: 2 });
    await plain.fit([batch(0), batch(1), batch(2), batch(3), batch(4, 2)]);
    expect(await stateOf(training)).toEqual(await stateOf(plain));
    expect(training.warnings).toEqual(plain.warnings);
    const other = await smallRun({ backend: await libraryBackend(onHost) });
    let steps = 0;
    for await (const { applied } of other.steps(stream())) steps += Number(applied);
    expect(steps).toBe(4);
  });

  it("may give handles of its own", async () => {
    const handles = new Map<LibraryTensor, RunInput>();
    const backend = await libraryBackend((own) => handles.get(own) as RunInput);
    const training = await smallRun({ backend });
    const data = library(0);
    for (const own of [data.x, data.y]) handles.set(own, await backend.upload(onHost(own) as HostTensor));
    const before = backend.stats();
    expect(await training.step(data)).toEqual(await (await smallRun()).step(batch(0)));
    expect(backend.stats().live).toBe(before.live + 1);
  });

  it("is asked for what core does not know, and its refusals come through", async () => {
    const backend = await libraryBackend(onHost);
    const training = await smallRun({ backend });
    const { x, y } = batch(0);
    await training.step({ x, y });
    await training.step({ x: await backend.upload(x), y });
    expect(backend.asked).toEqual([]);
    const gone = new LibraryTensor(x);
    gone.dispose();
    await expect(training.step({ x: gone, y })).rejects.toMatchObject({ code: "MP_DISPOSED" });
    const strange = new LibraryTensor(x, "complex64");
    await expect(training.step({ x: strange, y })).rejects.toThrow("there is no complex64 here");
    await expect(training.step({ x: new Date(), y } as never)).rejects.toThrow(/batch at x: .* got Date/);
    expect(backend.asked).toHaveLength(3);
    const empty = new LibraryTensor(tensor(new Float32Array(0), [0, 3]));
    await expect(training.step({ x: empty, y })).rejects.toThrow("batch/x: holds no elements");
    const lying = await smallRun({ backend: await libraryBackend(() => ({}) as RunInput) });
    await expect(lying.step(library(0))).rejects.toMatchObject({ code: "MP_BACKEND_FAILED" });
  });

  it("can be made of kernels", async () => {
    const own = library(0).x;
    const adopting = arrayBackend({ adopt: (value) => (value === own ? batch(0).x : undefined) });
    expect(adopting.manifest.adopt).toBe(true);
    expect(adopting.adopt?.(own)).toEqual(batch(0).x);
    expect(adopting.adopt?.(new Date())).toBeUndefined();
    expect(arrayBackend().adopt).toBeUndefined();
    expect(arrayBackend().manifest.adopt).toEqual({ unsupported: "it takes no tensors of a library's" });
    expect(tinyBackend().backend.adopt).toBeUndefined();
  });
});

it("a backend that adopts nothing says what to do with another library's tensor", async () => {
  const training = await smallRun();
  await expect(training.step(library(0))).rejects.toMatchObject({
    code: "MP_INVALID_ARGUMENT",
    message:
      "batch/x: is a float32 LibraryTensor of a library that this backend does not take tensors of; copy its data: tensor(data, shape)",
  });
});
