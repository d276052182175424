/** Backends that one factory makes are independent of each other. */
import { MpError } from "@mp/graph";
import { type ConformanceCase, universalCase } from "../conformance-case.js";
import { expectCode, expectEqual, expectThat } from "../expectations.js";
import { doubling, f32, scalar } from "../small-graphs.js";
import { expectSame, scriptedCase, withExecutable } from "./kinds/scripted-case.js";

const MANY = Array.from({ length: 20 }, (_, at) => at);

export const factoryCases: readonly ConformanceCase[] = [
  universalCase("factory/new-backend/holds-nothing", async (_, { create }) => {
    const { live, bytes } = (await create()).stats();
    expectEqual([live, bytes], [0, 0], "live things and bytes of a new backend");
  }),
  universalCase("factory/two-backends/are-two", async (backend, { create }) => {
    const other = await create();
    expectThat(other !== backend, "the factory gives the same backend twice");
    const handle = await backend.upload(f32(1, 2));
    expectEqual(other.stats().live, 0, "live things of the other backend");
    handle.dispose();
  }),
  scriptedCase("factory/two-backends/refuse-each-others-handles", doubling, async (backend, { create }) => {
    const other = await create();
    const foreign = await other.upload(f32(1, 2, 3));
    await expectCode("MP_INVALID_ARGUMENT", "download of another backend's handle", () =>
      backend.download(foreign),
    );
    await withExecutable(backend, doubling, (executable) =>
      expectCode("MP_INVALID_ARGUMENT", "run with another backend's handle", () =>
        executable.run({ x: foreign }),
      ),
    );
    foreign.dispose();
  }),
  scriptedCase("factory/two-backends/refuse-each-others-states", doubling, async (backend, { create }) => {
    const other = await create();
    const state = await other.createState({ a: f32(1, 2, 3) });
    await expectCode("MP_INVALID_ARGUMENT", "compile for another backend's state", () =>
      backend.compile(doubling, { state, bindings: [{ slot: "a", input: "x" }] }),
    );
    await state.dispose();
  }),
  scriptedCase("factory/two-backends/outlive-each-other", doubling, async (backend, { create }) => {
    const other = await create();
    await withExecutable(backend, doubling, async (executable) => {
      const handle = await backend.upload(f32(1, 2, 3));
      await withExecutable(other, doubling, (theirs) => theirs.run({ x: f32(0, 0, 0) }));
      await other.dispose();
      expectSame(
        (await executable.run({ x: handle }))["y"],
        f32(2, 4, 6),
        "a result after another backend's end",
      );
      handle.dispose();
    });
  }),
  universalCase("factory/dispose/twice-is-once", async (_, { create }) => {
    const backend = await create();
    await backend.dispose();
    await backend.dispose();
  }),
  scriptedCase("factory/dispose/ends-what-is-left", doubling, async (_, { create }) => {
    const backend = await create();
    const handle = await backend.upload(f32(1, 2, 3));
    const states = await Promise.all(MANY.map((at) => backend.createState({ a: scalar(at) })));
    const executable = await backend.compile(doubling);
    await backend.dispose();
    await expectCode("MP_DISPOSED", "run after the backend's end", () => executable.run({ x: f32(1, 2, 3) }));
    for (const state of states)
      await expectCode("MP_DISPOSED", "state.read after the backend's end", () => state.read());
    await expectCode("MP_DISPOSED", "handle.dispose after the backend's end", () => handle.dispose());
  }),
  scriptedCase("factory/dispose/refuses-what-comes-after", doubling, async (_, { create }) => {
    const backend = await create();
    const handle = await backend.upload(f32(1));
    const ending = backend.dispose();
    const verbs: Readonly<Record<string, () => unknown>> = {
      compile: () => backend.compile(doubling),
      createState: () => backend.createState({ a: f32(1) }),
      upload: () => backend.upload(f32(1)),
      download: () => backend.download(handle),
      stats: () => backend.stats(),
    };
    for (const when of ["during", "after"]) {
      for (const [verb, call] of Object.entries(verbs))
        await expectCode("MP_DISPOSED", `${verb} ${when} dispose`, call);
      await ending;
    }
  }),
  scriptedCase("factory/dispose/during-a-run-breaks-nothing", doubling, async (_, { create }) => {
    const backend = await create();
    const executable = await backend.compile(doubling);
    const running = executable.run({ x: f32(1, 2, 3) }).then(
      (results) => expectSame(results["y"], f32(2, 4, 6), "the run under way"),
      (error: unknown) =>
        expectThat(MpError.is(error, "MP_DISPOSED"), `the run under way fails with ${String(error)}`),
    );
    await backend.dispose();
    await running;
  }),
];
