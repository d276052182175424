/** Calls that overtake each other, and disposals that do not wait. */
import { type Backend, type Executable, type HostTensor, isNode, MpError, type State } from "@mp/graph";
import { reference } from "@mp/graph/reference";
import { fresh } from "../../src/fresh.js";
import { refill } from "../../src/held-data.js";
import { aWhile, slow, taken } from "./slow.js";
import { isTensor, wrapped } from "./wrapped.js";
import type { WrongBackend } from "./wrong-backend.js";

type Values = Readonly<Record<string, HostTensor>>;

/** Writes slot by slot, with turns of the event loop in between. Invalid values are refused before any is written. */
async function inPieces(state: State, values: Values): Promise<void> {
  const fits = ([name, { dtype, shape }]: readonly [string, HostTensor]): boolean =>
    state.types[name]?.dtype === dtype && state.types[name].shape.join() === shape.join();
  if (!Object.entries(values).every(fits)) return state.write(values);
  for (const [name, value] of Object.entries(values)) {
    await state.write({ [name]: value });
    await aWhile();
  }
}

const remember = (book: { committed: Values }, reading: Promise<Values>): void => {
  const keep = (values: Values): void => void Object.assign(book, { committed: values });
  reading.then(keep, () => undefined);
};

/** Resets the state at a compilation during runs to its values before the runs. */
async function compilesBack(): Promise<Backend> {
  const books = new WeakMap<State, { underWay: number; committed: Values }>();
  return wrapped(await reference(), {
    compile: async ({ inner }, right) => {
      const book = inner === undefined ? undefined : books.get(inner);
      const before = book !== undefined && book.underWay > 0 ? book.committed : undefined;
      const executable = await right();
      if (before !== undefined) await inner?.write(before);
      return executable;
    },
    executable: (executable, { inner }) => ({
      run: async (inputs) => {
        if (inner === undefined) return executable.run(inputs);
        const book = books.get(inner) ?? { underWay: 0, committed: {} };
        books.set(inner, book);
        if (book.underWay++ === 0) remember(book, inner.read());
        try {
          return await executable.run(inputs);
        } finally {
          book.underWay--;
        }
      },
    }),
  });
}

/** Makes executables without a state copy their inputs into shared buffers, one for each name and type. */
function sharingScratch(): Promise<Backend> {
  const scratch = new Map<string, HostTensor>();
  const place = (name: string, input: HostTensor): HostTensor => {
    const key = `${name} ${input.dtype} ${input.shape.join()} ${input.data.byteLength}`;
    const buffer = scratch.get(key) ?? fresh(input);
    scratch.set(key, buffer);
    refill(buffer, input);
    return buffer;
  };
  return slow({
    executable: (executable, queue, { inner }) => {
      if (inner !== undefined) return {};
      return {
        run: (inputs) => {
          const kept = taken(inputs);
          return queue.push(async () => {
            const fed = Object.entries(kept).map(([name, input]) => [
              name,
              isTensor(input) ? place(name, input) : input,
            ]);
            await aWhile();
            return executable.run(Object.fromEntries(fed));
          });
        },
      };
    },
  });
}

/** Refuses runs that wait as soon as the executable is disposed of. */
const turningRunsAway = (): Promise<Backend> =>
  slow({
    executable: (executable, queue) => {
      let gone = false;
      const work = async (kept: Parameters<Executable["run"]>[0]): Promise<Values> => {
        await aWhile();
        if (gone) throw new MpError("MP_DISPOSED", "the executable has been disposed");
        return executable.run(kept);
      };
      return {
        run: (inputs) => {
          const kept = taken(inputs);
          return queue.push(() => work(kept));
        },
        dispose: async () => {
          gone = true;
          await executable.dispose();
        },
      };
    },
  });

/** Frees constants as soon as an executable is disposed of, so that waiting runs read zeros. */
async function freeingConstants(): Promise<Backend> {
  const spare = await reference();
  return slow({
    executable: (executable, queue, { graph, inner }) => {
      if (inner !== undefined || !graph.nodes.some((node) => isNode(node, "Constant"))) return {};
      const nodes = graph.nodes.map((node) => {
        if (!isNode(node, "Constant")) return node;
        const value = fresh(node.attributes.value);
        new Uint8Array(value.data.buffer).fill(0);
        return { ...node, attributes: { value } };
      });
      let disposal: Promise<void> | undefined;
      return {
        run: (inputs) => {
          const kept = taken(inputs);
          const isLate = disposal !== undefined;
          return queue.push(async () => {
            await aWhile();
            const hasConstants = disposal === undefined || isLate;
            return (hasConstants ? executable : await spare.compile({ ...graph, nodes })).run(kept);
          });
        },
        dispose: () => {
          disposal ??= queue.push(() => executable.dispose());
          return disposal;
        },
      };
    },
  });
}

const STATE = ["order", "state", "aliasing", "repeat"];

export const orderFaults: readonly WrongBackend[] = [
  {
    fault: "reads overtake the runs that wait",
    factory: () => slow({ state: (state) => ({ read: (names) => state.read(names) }) }),
    axes: STATE,
    named: ["order/reads/wait-for-the-runs-before-them", "order/scripts/agree-with-one-call-at-a-time"],
    consequences: [/^order\//, /^repeat\/failed-run\/stops-none/],
  },
  {
    fault: "writes overtake the runs that wait",
    factory: () => slow({ state: (state) => ({ write: (values) => state.write(values) }) }),
    axes: STATE,
    named: ["order/writes/wait-for-the-runs-before-them", "order/scripts/agree-with-one-call-at-a-time"],
    consequences: [/^order\//, /^aliasing\/\w+\/states-read-a-view-where-it-is$/],
  },
  {
    fault: "runs overtake a read",
    factory: () =>
      slow({
        state: (state, queue) => ({
          read: (names) => aWhile().then(() => queue.push(() => state.read(names))),
        }),
      }),
    axes: STATE,
    named: ["order/reads/come-before-the-runs-after-them"],
    consequences: [/^order\//, /^repeat\/failed-run\/stops-none/],
  },
  {
    fault: "a write is seen half done by a run behind it",
    factory: () => slow({ state: (state) => ({ write: (values) => inPieces(state, fresh(values)) }) }),
    axes: STATE,
    named: ["order/writes/are-seen-whole"],
    consequences: [/^order\//, /^aliasing\/\w+\/states-read-a-view-where-it-is$/],
  },
  {
    fault: "what is compiled for a state puts back what the state held before the runs under way",
    factory: compilesBack,
    axes: STATE,
    named: ["order/compile/leaves-queued-runs-alone", "order/scripts/agree-with-one-call-at-a-time"],
    consequences: [/^order\/commits\//],
  },
  {
    fault: "executables without a state share the buffers that they are fed in",
    factory: sharingScratch,
    axes: ["order", "lifecycle", "repeat"],
    named: ["order/executables/keep-their-runs-apart"],
    consequences: [/^order\/compile\/leaves-runs-without-a-state-alone$/],
    message: /while other executables run|compiled meanwhile/,
  },
  {
    fault: "runs that wait read the caller's arrays when their turn comes",
    factory: () =>
      slow({
        executable: (executable, queue) => ({
          run: (inputs) => queue.push(() => aWhile().then(() => executable.run(inputs))),
        }),
      }),
    axes: ["order", "lifecycle", "state", "aliasing", "repeat"],
    named: [
      "order/runs/take-their-inputs-when-called",
      "order/runs/of-a-state-take-their-inputs-when-called",
    ],
    message: /whose array has changed since the call|refilled/,
  },
  {
    fault: "writes that wait read the caller's arrays when their turn comes",
    factory: () =>
      slow({ state: (state, queue) => ({ write: (values) => queue.push(() => state.write(values)) }) }),
    axes: STATE,
    named: ["order/writes/take-their-values-when-called"],
    message: /whose arrays have changed since the call/,
  },
  {
    fault: "disposing of an executable turns away the runs that wait",
    factory: turningRunsAway,
    axes: ["order", "lifecycle", "state"],
    named: [
      "order/dispose/an-executable-waits-for-its-runs",
      "order/dispose/an-executable-of-a-state-waits-for-its-runs",
    ],
    consequences: [/^order\/(dispose|scripts|compile)\//],
    message: /MP_DISPOSED|had ended when it had/,
  },
  {
    fault: "an executable's constants go while its runs wait",
    factory: freeingConstants,
    axes: ["order", "lifecycle"],
    named: ["order/dispose/an-executable-waits-for-its-runs"],
    message: /run \d of three, whose executable was disposed behind them/,
  },
  {
    fault: "a second disposal of an executable does not wait for the first",
    factory: () =>
      slow({
        executable: (executable, queue) => {
          let called = false;
          return {
            dispose: async () => {
              if (called) return;
              called = true;
              await queue.push(() => executable.dispose());
            },
          };
        },
      }),
    axes: ["order", "lifecycle", "factory"],
    named: ["order/dispose/an-executable-twice-at-once"],
    consequences: [/^order\/dispose\/a-state-and-its-executable-at-once$/],
    message: /before two disposals, those that had ended when it had|settles before the first/,
  },
  {
    fault: "a state's disposal does not wait for its runs",
    factory: () => slow({ state: (state) => ({ dispose: () => state.dispose() }) }),
    axes: ["order", "lifecycle", "state"],
    named: ["order/dispose/a-state-waits-for-what-was-called", "order/dispose/a-state-twice-at-once"],
    consequences: [/^order\/dispose\//],
    message: /MP_DISPOSED|had ended when it had/,
  },
  {
    fault: "a backend's disposal does not wait for its runs, which find nothing where the state was",
    factory: async () => {
      const backend = await slow();
      let disposal: Promise<void> | undefined;
      return { ...backend, dispose: () => (disposal ??= aWhile().then(() => void backend.dispose())) };
    },
    axes: ["order", "factory"],
    named: ["order/dispose/a-backend-waits-for-what-was-called"],
    consequences: [/^(order|factory)\/dispose\//],
  },
  {
    fault: "profiled runs do not wait their turn",
    factory: () =>
      slow({
        executable: (executable) => ({
          profile: (inputs) => executable.profile?.(inputs) ?? Promise.resolve([]),
        }),
      }),
    axes: ["order", "lifecycle", "state", "repeat", "leak"],
    named: ["order/profiles/wait-their-turn", "order/scripts/agree-with-one-call-at-a-time"],
  },
];
