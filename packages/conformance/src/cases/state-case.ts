/** Cases about one state and one executable for it. */
import type { Backend, Executable, State } from "@mp/graph";
import type { CaseContext, ConformanceCase } from "../conformance-case.js";
import { expectSame, scriptedCase } from "./kinds/scripted-case.js";
import { type Setup, type Values, withState } from "./kinds/with-state.js";

/** A scripted case with a state and an executable, which are disposed of at its end. */
export const stateCase = (
  id: string,
  setup: () => Setup,
  run: (state: State, executable: Executable, backend: Backend, context: CaseContext) => Promise<void>,
): ConformanceCase =>
  scriptedCase(id, setup().graph, (backend, context) =>
    withState(backend, setup(), (state, executable) => run(state, executable, backend, context)),
  );

/** @throws unless each slot in `want` has the same bits as its value in `want` */
export async function expectSlots(state: State, want: Values, when: string): Promise<void> {
  const now = await state.read();
  for (const [slot, value] of Object.entries(want)) expectSame(now[slot], value, `slot ${slot} ${when}`);
}
