import { type Backend, full, type Graph, GraphBuilder, MpError } from "@mp/graph";
import { afterAll, beforeAll, expect, it } from "vitest";
import { openvino } from "../../src/index.js";

const SIZE = 512;

/** Products that take tens of milliseconds. */
function products(): Graph {
  const builder = new GraphBuilder();
  const a = builder.input("a", { dtype: "f32", shape: [SIZE, SIZE] }, "batch");
  let product = a;
  for (let turn = 0; turn < 8; turn++) product = builder.emitOne("MatMul", [product, a], {});
  return builder.finish({ product });
}

const INPUTS = { a: full([SIZE, SIZE], 0, "f32") };

/** The error code of a call; undefined if it succeeds. */
const codeOf = (call: Promise<unknown> | undefined): Promise<string | undefined> =>
  Promise.resolve(call).then(
    () => undefined,
    (error: unknown) => (MpError.is(error) ? error.code : `no code: ${String(error)}`),
  );

let other: Backend;
beforeAll(async () => {
  other = await openvino();
});
afterAll(() => other.dispose());

it.each([
  ["compiles", (backend: Backend) => [backend.compile(products())]],
  ["compiles several", (backend: Backend) => [1, 2, 3].map(() => backend.compile(products()))],
])("is disposed while it %s", async (_, start) => {
  const backend = await openvino();
  const codes = Promise.all(start(backend).map(codeOf));
  await backend.dispose();
  for (const code of await codes) expect([undefined, "MP_DISPOSED"]).toContain(code);
  expect(await codeOf(backend.compile(products()))).toBe("MP_DISPOSED");
});

it("is disposed while it runs and profiles, and what is called afterwards is refused", async () => {
  const backend = await openvino();
  const executable = await backend.compile(products());
  await executable.run(INPUTS);
  const codes = Promise.all(
    [executable.run(INPUTS), executable.profile?.(INPUTS), executable.run(INPUTS)].map(codeOf),
  );
  await backend.dispose();
  for (const code of await codes) expect([undefined, "MP_DISPOSED"]).toContain(code);
  expect(await codeOf(executable.run(INPUTS))).toBe("MP_DISPOSED");
  expect(await codeOf(executable.profile?.(INPUTS))).toBe("MP_DISPOSED");
});

it("leaves other backends of the process as they are", async () => {
  const executable = await other.compile(products());
  const { product } = await executable.run(INPUTS);
  expect(product?.data.length).toBe(SIZE * SIZE);
  await executable.dispose();
});
