/** Stale caches between runs, and incomplete statistics. */
import {
  type Backend,
  type BackendStats,
  type Executable,
  type Handle,
  type HostTensor,
  isNode,
  type RunInput,
  type State,
} from "@mp/graph";
import { reference } from "@mp/graph/reference";
import { fresh } from "../../src/fresh.js";
import { type Compiled, isTensor, mapped, running, wrapped } from "./wrapped.js";
import type { WrongBackend } from "./wrong-backend.js";

type Values = Readonly<Record<string, HostTensor>>;

/** Keeps a copy of a tensor for each key, made at the first use of the key, and returns it while `isSame` is true. */
function keeping(
  keyOf: (tensor: HostTensor) => object,
  isSame: (now: HostTensor, kept: HostTensor) => boolean = () => true,
): <T>(given: T) => T {
  const copies = new WeakMap<object, HostTensor>();
  return (given) => {
    if (!isTensor(given)) return given;
    const key = keyOf(given);
    const known = copies.get(key);
    const fits =
      known !== undefined && known.dtype === given.dtype && known.shape.join() === given.shape.join();
    if (fits && isSame(given, known)) return known as typeof given;
    copies.set(key, fresh(given as HostTensor));
    return given;
  };
}

/** Uploads inputs of runs only once. */
const feedingOnce = (keep: <T>(given: T) => T): Promise<Backend> =>
  running((run) => (inputs) => run(mapped(inputs, keep)));

/** The oracle with other handles, which `inner` maps to the oracle's. */
const behindHandles = async (
  events: { readonly made?: (handle: Handle) => void; readonly ended: (handle: Handle) => void },
  change: (executable: Executable, inner: WeakMap<object, Handle>, compiled: Compiled) => Partial<Executable>,
): Promise<Backend> => {
  const inner = new WeakMap<object, Handle>();
  const backend = await reference();
  return wrapped(backend, {
    upload: async (tensor, right) => {
      const handle = await right(tensor);
      const outer: Handle = {
        dtype: handle.dtype,
        shape: handle.shape,
        dispose: () => {
          handle.dispose();
          events.ended(outer);
        },
      };
      inner.set(outer, handle);
      events.made?.(outer);
      return outer;
    },
    executable: (executable, compiled) => change(executable, inner, compiled),
    members: { download: (handle) => backend.download(inner.get(handle) ?? handle) },
  });
};

/** Keeps the first handle that is fed for an input bound as long as it is alive. */
const bindingHandles = (): Promise<Backend> => {
  const ended = new WeakSet<object>();
  return behindHandles({ ended: (handle) => ended.add(handle) }, (executable, inner) => {
    const bound = new Map<string, RunInput>();
    return {
      run: (inputs) => {
        const fed = Object.entries(inputs).map(([name, input]): [string, RunInput] => {
          const isHandle = inner.has(input) && !ended.has(input);
          const known = bound.get(name);
          if (isHandle && known !== undefined && !ended.has(known)) return [name, inner.get(known) as Handle];
          if (isHandle) bound.set(name, input);
          return [name, inner.get(input) ?? input];
        });
        return executable.run(Object.fromEntries(fed));
      },
    };
  });
};

/** Caches results for a handle under its number, though numbers are reused. */
const numberingHandles = (): Promise<Backend> => {
  const numbers = new WeakMap<object, number>();
  const free: number[] = [];
  let next = 0;
  const made = (handle: Handle): void => {
    numbers.set(handle, free.pop() ?? next++);
  };
  const ended = (handle: Handle): void => {
    free.push(numbers.get(handle) as number);
    numbers.delete(handle);
  };
  return behindHandles({ made, ended }, (executable, inner, { inner: state }) => {
    const known = new Map<string, Values>();
    return {
      run: async (inputs) => {
        const given = Object.entries(inputs);
        const isCached =
          state === undefined && given.length === 1 && given.every(([, input]) => numbers.has(input));
        const key = given.map(([, input]) => numbers.get(input)).join();
        const taken = mapped(inputs, (input) => inner.get(input) ?? input);
        const results = (isCached ? known.get(key) : undefined) ?? (await executable.run(taken));
        if (isCached) known.set(key, results);
        return fresh(results);
      },
    };
  });
};

/** Does not compute a run with the same handles as the last one. */
const rememberingRuns = (): Promise<Backend> =>
  running((run) => {
    let last: readonly [RunInput[], Values] | undefined;
    return async (inputs) => {
      const fed = Object.values(inputs);
      const isAgain =
        fed.length > 0 &&
        fed.every((input, at) => !isTensor(input) && input === last?.[0][at]) &&
        fed.length === last?.[0].length;
      if (!isAgain) last = [fed, await run(inputs)];
      return fresh(last?.[1] ?? {});
    };
  });

/** Commits the values that a failed run computed for a slot with the state's next good run. */
const committingFailuresLater = async (): Promise<Backend> => {
  const pending = new WeakMap<State, Values>();
  return wrapped(await reference(), {
    executable: (executable, { graph, inner, bindings = [] }) => ({
      run: async (inputs) => {
        if (inner === undefined) return executable.run(inputs);
        try {
          const results = await executable.run(inputs);
          const left = pending.get(inner);
          pending.delete(inner);
          const own = new Set(bindings.flatMap(({ slot, output }) => (output === undefined ? [] : [slot])));
          const late = Object.entries(left ?? {}).filter(([slot]) => !own.has(slot));
          if (late.length > 0) await inner.write(Object.fromEntries(late));
          return results;
        } catch (error) {
          // Gather fails in the middle of a run when its index is outside.
          const isHalfDone = graph.nodes.some((node) => isNode(node, "Gather"));
          if (isHalfDone) pending.set(inner, mapped(await inner.read(), halfDone));
          throw error;
        }
      },
    }),
  });
};
const halfDone = (tensor: HostTensor): HostTensor => {
  const half = fresh(tensor);
  half.data.reverse();
  return half;
};

/** Makes the runs that wait for a failed run fail, too. */
const failingTogether = async (): Promise<Backend> => {
  const tails = new WeakMap<State, Promise<unknown>>();
  return wrapped(await reference(), {
    executable: (executable, { inner }) => ({
      run: (inputs) => {
        if (inner === undefined) return executable.run(inputs);
        const before = tails.get(inner);
        const taken = mapped(inputs, (input) => (isTensor(input) ? fresh(input) : input));
        const result = executable.run(taken);
        const behind = before === undefined ? result : Promise.all([before, result]).then(() => result);
        result.catch(() => undefined);
        tails.set(inner, behind);
        const clear = (): void => {
          if (tails.get(inner) === behind) tails.delete(inner);
        };
        behind.then(clear, clear);
        return behind;
      },
    }),
  });
};

/** Runs with the profiler on the state itself and then restores the values that `isKept` returns. */
const profilingAside = async (isKept: (state: Values) => Values | undefined): Promise<Backend> =>
  wrapped(await reference(), {
    executable: (executable, { inner }) => ({
      profile: async (inputs) => {
        const before = await inner?.read();
        const rows = (await executable.profile?.(inputs)) ?? [];
        const back = before && isKept(before);
        if (back !== undefined) await inner?.write(back);
        return rows;
      },
    }),
  });

/** Changes statistics before they are returned. */
const counting = async (
  change: (stats: BackendStats, states: ReadonlySet<Values>) => BackendStats,
): Promise<Backend> => {
  const states = new Set<Values>();
  const backend = await reference();
  const held = new WeakMap<State, Values>();
  return wrapped(backend, {
    createState: async (values, right) => {
      const kept = fresh(values);
      const state = await right(values);
      states.add(kept);
      held.set(state, kept);
      const { dispose } = state;
      return Object.assign(state, {
        dispose: async () => {
          await dispose();
          states.delete(kept);
        },
      });
    },
    members: { stats: () => change(backend.stats(), states) },
  });
};

const bytesOf = (states: ReadonlySet<Values>): number =>
  [...states].flatMap((values) => Object.values(values)).reduce((sum, { data }) => sum + data.byteLength, 0);

const KEPT = ["repeat", "lifecycle", "state", "transfer"];
const refilledId = (dtype: string): string => `repeat/${dtype}/one-refilled-array-is-read-again`;

export const repeatedRunFaults: readonly WrongBackend[] = [
  {
    fault: "a tensor that was fed once is not read again",
    factory: () => feedingOnce(keeping((tensor) => tensor)),
    axes: KEPT,
    named: ["f32", "i32", "bool"].map(refilledId),
    consequences: [/^repeat\/\w+\/one-refilled-array/, /^repeat\/failed-run\/leaves-no-input-behind$/],
    message: /refilled/,
  },
  {
    fault: "an array that was fed once is not read again",
    factory: () => feedingOnce(keeping(({ data }) => data)),
    axes: KEPT,
    named: ["f32", "i32", "bool"].map(refilledId),
    consequences: [/^repeat\/\w+\/one-refilled-array/, /^repeat\/failed-run\/leaves-no-input-behind$/],
    message: /refilled/,
  },
  {
    fault: "an array that was fed once is read again only where its first element has changed",
    factory: () =>
      feedingOnce(
        keeping(
          ({ data }) => data,
          (now, kept) => Object.is(now.data[0], kept.data[0]),
        ),
      ),
    axes: KEPT,
    named: ["f32", "i32", "bool"].map(refilledId),
    consequences: [/^repeat\/\w+\/one-refilled-array/],
    message: /refilled, turn [35]/,
  },
  {
    fault: "an array that was uploaded once is not read again",
    factory: async () => {
      const keep = keeping(({ data }) => data);
      return wrapped(await reference(), { upload: (tensor, right) => right(keep(tensor)) });
    },
    axes: KEPT,
    named: ["f32", "i32", "bool"].map(refilledId),
    consequences: [/^repeat\/\w+\/one-refilled-array/],
    message: /an upload of an array/,
  },
  {
    fault: "an array that was written to a state once is not read again",
    factory: async () => {
      const keep = keeping(({ data }) => data);
      return wrapped(await reference(), {
        state: (state) => ({ write: (values) => state.write(mapped(values, keep)) }),
      });
    },
    axes: KEPT,
    named: ["f32", "i32", "bool"].map(refilledId),
    consequences: [/^repeat\/\w+\/one-refilled-array/],
    message: /a write of an array/,
  },
  {
    fault: "the first handle of an input stays bound",
    factory: bindingHandles,
    axes: ["repeat", "lifecycle", "transfer"],
    named: ["repeat/handles/take-turns"],
    message: /after others in its place/,
  },
  {
    fault: "a handle is given what was worked out for one before it",
    factory: numberingHandles,
    axes: ["repeat", "lifecycle", "transfer"],
    named: ["repeat/handles/a-new-one-is-not-the-one-that-went"],
    consequences: [/^repeat\/\w+\/one-refilled-array/],
    message: /made after the one before it ended|a run on the handle of/,
  },
  {
    fault: "a run on the same handles is not done again",
    factory: rememberingRuns,
    axes: ["repeat", "lifecycle", "state"],
    named: ["repeat/runs/are-done-each-time"],
    message: /on the same inputs/,
  },
  {
    fault: "what a failed run had worked out is committed by the next good one",
    factory: committingFailuresLater,
    axes: ["repeat", "state", "order"],
    named: ["repeat/failed-run/commits-nothing-later"],
    message: /after a failed run and a good one/,
  },
  {
    fault: "a run that fails takes along those behind it",
    factory: failingTogether,
    axes: ["repeat", "state", "order", "lifecycle"],
    named: ["repeat/failed-run/stops-none-of-those-behind-it"],
    message: /two runs behind a failing one/,
  },
  {
    fault: "profiled runs do not commit",
    factory: () => profilingAside((before) => before),
    axes: ["repeat", "state", "order", "lifecycle", "leak", "manifest"],
    named: ["repeat/profile/commits-as-a-run-does"],
    consequences: [/^order\/(scripts|profiles)\//],
  },
  {
    fault: "profiled runs commit what is applied, and not what always commits",
    factory: () => profilingAside(({ count }) => (count === undefined ? undefined : { count })),
    axes: ["repeat", "state", "order", "lifecycle", "leak", "manifest"],
    named: ["repeat/profile/commits-as-a-run-does"],
    consequences: [/^order\/(scripts|profiles)\//],
  },
  {
    fault: "stats leave states out",
    factory: () =>
      counting(({ live, bytes }, states) => ({ live: live - states.size, bytes: bytes - bytesOf(states) })),
    axes: ["stats", "lifecycle", "state", "leak", "factory"],
    named: ["stats/f32/counts-states-and-handles", "stats/any-order/counts-what-is-there"],
    consequences: [/^stats\//],
    message: /live things/,
  },
  {
    fault: "stats leave the bytes of states out",
    factory: () => counting(({ live, bytes }, states) => ({ live, bytes: bytes - bytesOf(states) })),
    axes: ["stats", "lifecycle", "state", "leak", "factory"],
    named: ["stats/f32/counts-states-and-handles"],
    consequences: [/^stats\//],
    message: /a state of \d+ bytes counts as/,
  },
  {
    fault: "stats count states and leave executables out",
    factory: async () => {
      let executables = 0;
      const backend = await reference();
      return wrapped(backend, {
        executable: (executable) => {
          executables++;
          let gone = false;
          return {
            dispose: async () => {
              await executable.dispose();
              if (!gone) executables--;
              gone = true;
            },
          };
        },
        members: {
          stats: () => {
            const { live, bytes } = backend.stats();
            return { live: live - executables, bytes };
          },
        },
      });
    },
    axes: ["stats", "lifecycle", "state", "leak", "factory"],
    named: ["stats/any-order/counts-what-is-there"],
    message: /live things/,
  },
];
