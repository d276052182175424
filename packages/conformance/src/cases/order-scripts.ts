/**
 * Random runs, reads, writes, compilations and disposals of one state, seldom awaited. A model, which is a list of
 * numbers, gives the expected values.
 */
import { type Backend, type Executable, MpError } from "@mp/graph";
import type { ConformanceCase } from "../conformance-case.js";
import { expectEqual, fail } from "../expectations.js";
import type { RandomSource } from "../random-source.js";
import { f32, flag, scalar } from "../small-graphs.js";
import { later, turn } from "./growing.js";
import { expectSame, scriptedCase } from "./kinds/scripted-case.js";
import { stepping, withState } from "./kinds/with-state.js";

const SCRIPTS = 12;
const CALLS = 40;

/** The expected values of the state after all calls. */
interface Model {
  weight: readonly [number, number];
  count: number;
}

type Call = (model: Model, random: RandomSource) => void;

async function playScript(backend: Backend, random: RandomSource, said: string[]): Promise<void> {
  const { bindings } = stepping();
  await withState(backend, stepping(), async (state, first) => {
    const compile = (): Promise<Executable> =>
      backend.compile(stepping().graph, { state, bindings, applied: "applied" });
    const executables = [first];
    const open: Promise<unknown>[] = [];
    const call = (made: Promise<unknown>): void => void open.push(later(made));
    const one = (): Executable => executables[random.integer(0, executables.length - 1)] as Executable;
    const weigh = ([a, b]: Model["weight"]) => f32(a, b);
    const run: Call = (model) => {
      const [x, go] = [random.integer(1, 9), random.integer(0, 2) > 0];
      const [{ weight }, place] = [model, said.length];
      said.push(`run +${x}${go ? "" : ", skipped"}`);
      const inputs = { x: f32(x, 2 * x), go: flag(go) };
      call(
        one()
          .run(inputs)
          .then(({ seen }) => expectSame(seen, weigh(weight), `call ${place}: what the run saw`)),
      );
      model.count += 1;
      if (go) model.weight = [weight[0] + x, weight[1] + 2 * x];
    };
    const profile: Call = (model) => {
      const executable = one();
      if (executable.profile === undefined) return;
      said.push("profile +1");
      call(executable.profile({ x: f32(1, 1), go: flag(true) }));
      model.count += 1;
      model.weight = [model.weight[0] + 1, model.weight[1] + 1];
    };
    const read: Call = ({ weight, count }) => {
      const place = said.length;
      said.push("read");
      const check = state.read().then((values) => {
        expectSame(values["weight"], weigh(weight), `call ${place}: the weight read`);
        expectSame(values["count"], scalar(count), `call ${place}: the count read`);
      });
      call(check);
    };
    const write: Call = (model) => {
      const [value, whole] = [random.integer(-50, 50), random.integer(0, 1) === 1];
      said.push(`write ${value}${whole ? " to both" : ""}`);
      call(state.write({ weight: f32(value, -value), ...(whole ? { count: scalar(value) } : {}) }));
      model.weight = [value, -value];
      if (whole) model.count = value;
    };
    const compileOne: Call = () => {
      said.push("compile");
      call(compile().then((executable) => void executables.push(executable)));
    };
    const dispose: Call = () => {
      const gone =
        executables.length > 1 ? executables.splice(random.integer(1, executables.length - 1), 1) : [];
      for (const executable of gone) {
        said.push("dispose of an executable");
        call(executable.dispose());
      }
    };
    const calls: readonly Call[] = [run, run, run, run, profile, read, read, write, compileOne, dispose];
    const model: Model = { weight: [0, 10], count: 0 };
    try {
      for (let step = 0; step < CALLS; step++) {
        (calls[random.integer(0, calls.length - 1)] as Call)(model, random);
        const wait = random.integer(0, 9);
        if (wait === 0) await Promise.all(open);
        else if (wait === 1) await turn();
        else if (wait < 4) await Promise.resolve();
      }
      await Promise.all(open);
      const { weight, count } = await state.read();
      expectSame(weight, weigh(model.weight), "the weight at the end");
      expectEqual(count?.data[0], model.count, "the count at the end");
    } finally {
      await Promise.allSettled(open);
      for (const executable of executables.slice(1)) await executable.dispose();
    }
  });
}

export const orderScriptCases: readonly ConformanceCase[] = [
  scriptedCase(
    "order/scripts/agree-with-one-call-at-a-time",
    stepping().graph,
    async (backend, { random, seed }) => {
      for (let script = 0; script < SCRIPTS; script++) {
        const said: string[] = [];
        try {
          await playScript(backend, random, said);
        } catch (error) {
          if (MpError.is(error, "MP_UNSUPPORTED")) throw error;
          const message = MpError.is(error) ? `${error.code}: ${error.message}` : String(error);
          fail(`${message}, in script ${script} of seed ${seed}: ${said.join("; ")}`);
        }
      }
    },
  ),
];
