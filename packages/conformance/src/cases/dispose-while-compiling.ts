/** If the state or the backend is disposed of during a compilation, no live executable may be left. */
import { type Executable, MpError } from "@mp/graph";
import type { ConformanceCase } from "../conformance-case.js";
import { expectCode, expectEqual, expectThat } from "../expectations.js";
import { doubling, f32 } from "../small-graphs.js";
import { scriptedCase } from "./kinds/scripted-case.js";

/** Checks that a compilation ends with MP_DISPOSED or with an executable that refuses to run. */
async function expectLifeless(compiling: Promise<Executable>, what: string): Promise<void> {
  const compiled = await compiling.catch((error: unknown) => {
    expectThat(MpError.is(error, "MP_DISPOSED"), `${what}: compile fails with ${String(error)}`);
  });
  if (compiled === undefined) return;
  await expectCode("MP_DISPOSED", `${what}: a run of what was compiled`, () =>
    compiled.run({ x: f32(1, 2, 3) }),
  );
}

export const disposeWhileCompilingCases: readonly ConformanceCase[] = [
  scriptedCase("factory/dispose/during-a-compilation", doubling, async (_, { create }) => {
    const backend = await create();
    const compiling = backend.compile(doubling);
    compiling.catch(() => undefined);
    await backend.dispose();
    await expectLifeless(compiling, "a backend that ended");
  }),
  scriptedCase("factory/dispose/refuses-what-comes-before-its-end", doubling, async (_, { create }) => {
    const backend = await create();
    const state = await backend.createState({ a: f32(1, 2, 3) });
    const executable = await backend.compile(doubling);
    const ending = backend.dispose();
    const calls: Readonly<Record<string, () => unknown>> = {
      run: () => executable.run({ x: f32(1, 2, 3) }),
      "state.read": () => state.read(),
      "state.write": () => state.write({ a: f32(4, 5, 6) }),
      compile: () => backend.compile(doubling),
    };
    const refusals = Object.entries(calls).map(([verb, call]) =>
      expectCode("MP_DISPOSED", `${verb} while the backend ends`, call),
    );
    await Promise.all([ending, ...refusals]);
  }),
  scriptedCase("order/dispose/a-state-during-a-compilation", doubling, async (backend) => {
    const before = backend.stats();
    const state = await backend.createState({ a: f32(1, 2, 3) });
    const compiling = backend.compile(doubling, { state, bindings: [{ slot: "a", input: "x" }] });
    compiling.catch(() => undefined);
    await state.dispose();
    await expectLifeless(compiling, "a state that ended");
    await (await compiling.catch(() => undefined))?.dispose();
    expectEqual(backend.stats(), before, "stats after both have ended");
  }),
];
