/**
 * On a device the engine copies, when it is bound, an input that a CPU node reads. Here a CPU session simulates that
 * copy; every run must still see the inputs that it was given.
 */
import { type Backend, GraphBuilder, type HostTensor, tensor } from "@mp/graph";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { ortBackend } from "../src/backend.js";
import { ortManifest } from "../src/manifest.js";
import { NativeBinding } from "../src/native/binding.js";
import { type NativeRuntime, openRuntime } from "../src/native/index.js";
import { probeOnce } from "../src/probe/probe-once.js";

let runtime: NativeRuntime;
let backend: Backend;
beforeEach(async () => {
  runtime = await openRuntime();
  const findings = await probeOnce(runtime);
  const engine = { name: "onnxruntime", version: runtime.library.version };
  backend = ortBackend(runtime, ortManifest(engine, "cuda", findings), findings);
  Object.defineProperty(runtime, "device", { value: "cuda" });
  const { bindInput } = NativeBinding.prototype;
  vi.spyOn(NativeBinding.prototype, "bindInput").mockImplementation(function (
    this: NativeBinding,
    name,
    given,
  ) {
    const { dtype, shape } = given.read();
    const copy = runtime.allocate({ dtype, shape });
    copy.copyFrom(given);
    bindInput.call(this, name, copy);
  });
});
afterEach(async () => {
  vi.restoreAllMocks();
  await backend.dispose();
});

const f32 = (...numbers: readonly number[]): HostTensor => tensor(Float32Array.from(numbers));

/** y = sum + x, and the sum becomes y. */
function adding() {
  const builder = new GraphBuilder();
  const [sum, x] = ["sum", "x"].map((name) => builder.input(name, { dtype: "f32", shape: [1] }, "batch"));
  if (sum === undefined || x === undefined) throw new Error("no inputs");
  return builder.finish({ y: builder.emitOne("Add", [sum, x], {}) });
}

it("reads fed arrays and handles anew in every run", async () => {
  const executable = await backend.compile(adding());
  const handle = await backend.upload(f32(10));
  const run = async (sum: number): Promise<unknown> =>
    (await executable.run({ sum: f32(sum), x: handle }))["y"]?.data[0];
  expect([await run(1), await run(2), await run(3)]).toEqual([11, 12, 13]);
});

it("reads what runs and writes have left in a state", async () => {
  const state = await backend.createState({ sum: f32(0) });
  const bindings = [{ slot: "sum", input: "sum", output: "y", commit: "always" }] as const;
  const executable = await backend.compile(adding(), { state, bindings });
  const sums: unknown[] = [];
  for (let run = 0; run < 5; run++) {
    if (run === 3) await state.write({ sum: f32(100) });
    await executable.run({ x: f32(1) });
    sums.push((await state.read())["sum"]?.data[0]);
  }
  expect(sums).toEqual([1, 2, 3, 101, 102]);
});
