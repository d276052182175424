/** Backends whose reports lie, or that touch or lose something once a call has ended. */
import {
  type Backend,
  type BackendStats,
  byteLength,
  type Executable,
  type HostTensor,
  type State,
  zeros,
} from "@mp/graph";
import { reference } from "@mp/graph/reference";
import { turn } from "../../src/cases/growing.js";
import { oracleWithKernels } from "./kernels.js";
import { type Changes, isTensor, running, wrapped } from "./wrapped.js";
import type { WrongBackend } from "./wrong-backend.js";

const changed = async (changes: (backend: Backend) => Changes): Promise<Backend> => {
  const backend = await oracleWithKernels({});
  return wrapped(backend, changes(backend));
};

/** Changes what a profile says. */
const profiling = (rows: (given: Awaited<ReturnType<NonNullable<Executable["profile"]>>>) => typeof given) =>
  changed(() => ({
    executable: (executable) => ({
      profile: async (inputs) => rows((await executable.profile?.(inputs)) ?? []),
    }),
  }));

/** Changes the stats after each disposal of a state, by the bytes that it had. */
async function counting(change: (stats: BackendStats, states: number) => BackendStats): Promise<Backend> {
  const backend = await reference();
  let disposed = 0;
  return wrapped(backend, {
    state: (state) => ({
      dispose: async () => {
        await state.dispose();
        disposed++;
      },
    }),
    members: { stats: () => change(backend.stats(), disposed) },
  });
}

/** Puts each value of a dtype through f32, as an engine does that keeps scalars as arguments of a call. */
const throughNumbers = (dtype: HostTensor["dtype"], change: (x: number | bigint) => number | bigint) =>
  changed(() => ({
    createState: (values, right) => right(values),
    state: (state: State) => ({
      write: (values) =>
        state.write(
          Object.fromEntries(
            Object.entries(values).map(([name, value]) => [
              name,
              value.dtype === dtype && value.shape.length === 0
                ? ({
                    ...value,
                    data: (value.data as Float32Array).map((x) => change(x) as number),
                  } as HostTensor)
                : value,
            ]),
          ),
        ),
    }),
  }));

export const reportFaults: readonly WrongBackend[] = [
  {
    fault: "the peak of memory is that of one element",
    factory: () => changed(() => ({ executable: () => ({ memory: () => ({ peakBytes: 4 }) }) })),
    axes: ["manifest"],
    among: /manifest\/memory/,
    named: ["manifest/memory/covers-the-state-and-what-is-alive-at-once"],
  },
  {
    fault: "the peak of memory leaves out the state",
    factory: () =>
      changed((backend) => ({
        executable: (executable, { graph }) => ({
          memory: () => {
            const [bound] = graph.inputs;
            const stateBytes = bound === undefined ? 0 : bound.value.shape.reduce((a, b) => a * b, 4);
            const { peakBytes } = executable.memory?.() ?? { peakBytes: 0 };
            return {
              peakBytes: Math.max(1, Math.min(peakBytes, backend.stats().bytes + stateBytes) - stateBytes),
            };
          },
        }),
      })),
    axes: ["manifest"],
    among: /manifest\/memory/,
    named: ["manifest/memory/covers-the-state-and-what-is-alive-at-once"],
  },
  ...(
    [
      ["in nanoseconds", (x: number) => x * 1000],
      ["in milliseconds", (x: number) => x / 1000],
    ] as const
  ).map(
    ([unit, scale]): WrongBackend => ({
      fault: `a profile has its times ${unit}`,
      factory: () =>
        profiling((rows) => rows.map((row) => ({ ...row, microseconds: scale(row.microseconds) }))),
      axes: ["manifest"],
      among: /manifest\/profile/,
      named: ["manifest/profile/adds-up-to-the-time-of-the-run"],
    }),
  ),
  {
    fault: "a profile counts each call twice",
    factory: () => profiling((rows) => rows.map((row) => ({ ...row, calls: 2 * row.calls }))),
    axes: ["manifest"],
    among: /manifest\/profile/,
    named: ["manifest/profile/adds-up-to-the-time-of-the-run"],
  },
  {
    fault: "results are cleared once the event loop has turned",
    factory: () =>
      running((run) => async (inputs) => {
        const results = await run(inputs);
        void turn().then(() => {
          for (const { data } of Object.values(results)) data.fill(0 as never);
        });
        return results;
      }),
    axes: ["repeat", "aliasing"],
    among: /^repeat\/runs/,
    named: ["repeat/runs/touch-nothing-once-they-are-done"],
  },
  {
    fault: "inputs are scratch memory once the run is done",
    factory: () =>
      running((run) => async (inputs) => {
        const results = await run(inputs);
        void Promise.resolve()
          .then(turn)
          .then(() => {
            for (const input of Object.values(inputs)) if (isTensor(input)) input.data.fill(1 as never);
          });
        return results;
      }),
    axes: ["repeat", "aliasing"],
    among: /^repeat\/runs/,
    named: ["repeat/runs/touch-nothing-once-they-are-done"],
  },
  {
    fault: "the run after a failed call is not committed",
    factory: async () => {
      const backend = await reference();
      let hasFailed = false;
      const failing = async <T>(call: Promise<T>): Promise<T> =>
        call.catch((error: unknown) => {
          hasFailed = true;
          throw error;
        });
      return wrapped(backend, {
        state: (state) => ({
          write: (values) => failing(state.write(values)),
          read: (names) => failing(state.read(names)),
        }),
        executable: (executable, { inner }) => ({
          run: async (inputs) => {
            if (!hasFailed || inner === undefined) return executable.run(inputs);
            hasFailed = false;
            const before = await inner.read();
            const results = await executable.run(inputs);
            await inner.write(before);
            return results;
          },
        }),
      });
    },
    axes: ["repeat"],
    among: /^repeat\/failed/,
    named: ["repeat/failed-call/leaves-the-next-run-as-it-was"],
  },
  {
    fault: "a scalar of i64 goes through a double",
    factory: () => throughNumbers("i64", (x) => BigInt.asIntN(64, BigInt(Number(x)))),
    axes: ["state"],
    among: /^state\/scalar/,
    named: ["state/scalar-i64/keeps-extremes"],
  },
  {
    fault: "a scalar of u64 is signed",
    factory: () => throughNumbers("u64", (x) => (BigInt(x) >= 2n ** 63n ? 2n ** 63n - 1n : x)),
    axes: ["state"],
    among: /^state\/scalar/,
    named: ["state/scalar-u64/keeps-extremes"],
  },
  {
    fault: "a scalar of f32 is flushed",
    factory: () => throughNumbers("f32", (x) => (Math.abs(Number(x)) < 2 ** -126 ? 0 : x)),
    axes: ["state"],
    among: /^state\/scalar/,
    named: ["state/scalar-f32/keeps-extremes"],
  },
  {
    fault: "bytes fall by too little when a state ends, until all have ended",
    factory: () =>
      counting((stats, states) => ({
        ...stats,
        bytes: stats.bytes + (stats.live > 1 ? 16 * states : 0),
      })),
    axes: ["stats"],
    among: /^stats\/any-order/,
    named: ["stats/any-order/counts-what-is-there"],
  },
  {
    fault: "a profile adds to the one before",
    factory: () => {
      let all: Awaited<ReturnType<NonNullable<Executable["profile"]>>> = [];
      return profiling((rows) => {
        all = [...all, ...rows];
        return all;
      });
    },
    axes: ["manifest"],
    among: /manifest\/profile/,
    named: ["manifest/profile/adds-up-to-the-time-of-the-run"],
  },
  {
    fault: "a handle that a failed run was given reads as zeros",
    factory: () => {
      const spoiled = new WeakSet<object>();
      return running((run) => async (inputs) => {
        const now = Object.entries(inputs).map(([name, x]) => [
          name,
          spoiled.has(x) ? zeros(x.shape, x.dtype) : x,
        ]);
        try {
          return await run(Object.fromEntries(now));
        } catch (error) {
          for (const x of Object.values(inputs)) if (typeof x === "object" && !isTensor(x)) spoiled.add(x);
          throw error;
        }
      });
    },
    axes: ["repeat"],
    among: /^repeat\/failed-run/,
    named: ["repeat/failed-run/leaves-its-handles-as-they-were"],
  },
  {
    fault: "a failed run keeps the bytes of its handles",
    factory: async () => {
      let kept = 0;
      const backend = await reference();
      return wrapped(backend, {
        executable: (executable) => ({
          run: async (inputs) => {
            try {
              return await executable.run(inputs);
            } catch (error) {
              for (const x of Object.values(inputs))
                if (x && !isTensor(x) && x.shape.length > 0) kept += byteLength(x);
              throw error;
            }
          },
        }),
        members: { stats: () => ({ ...backend.stats(), bytes: backend.stats().bytes + kept }) },
      });
    },
    axes: ["repeat"],
    among: /^repeat\/failed-run/,
    named: ["repeat/failed-run/leaves-its-handles-as-they-were"],
    consequences: [/./],
  },
  {
    fault: "a second dispose resolves at once",
    factory: async () => {
      const disposed = new WeakSet<Executable>();
      return wrapped(await reference(), {
        executable: (executable) => ({
          dispose: async () => {
            if (disposed.has(executable)) return;
            disposed.add(executable);
            await executable.dispose();
          },
        }),
      });
    },
    axes: ["order"],
    among: /^order\/dispose/,
    named: ["order/dispose/an-executable-twice-at-once"],
    consequences: [/^order\/dispose/],
  },
];
