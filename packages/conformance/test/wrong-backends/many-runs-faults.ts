/** Engines that are right for dozens or hundreds of runs, until a count, a reused buffer or a rewrite shows. */
import type { Backend, HostTensor, State } from "@mp/graph";
import { reference } from "@mp/graph/reference";
import { fresh } from "../../src/fresh.js";
import { isTensor, mapped, running, wrapped } from "./wrapped.js";
import type { WrongBackend } from "./wrong-backend.js";

type Values = Readonly<Record<string, HostTensor>>;

/** Every `number`-th run, or only the first of these, returns the results of the run before it. */
const staleAt = (number: number, isOnce = false): Promise<Backend> =>
  running((run) => {
    let count = 0;
    let last: Values | undefined;
    return async (inputs) => {
      const results = await run(inputs);
      count++;
      const isStale = isOnce ? count === number : count % number === 0;
      const given = isStale && last !== undefined ? last : results;
      last = fresh(results);
      return fresh(given);
    };
  });

/** From run `number` on, feeds the arrays of the run before it again. */
const notReadAfter = (number: number): Promise<Backend> =>
  running((run) => {
    let count = 0;
    let kept: Record<string, unknown> = {};
    return (inputs) => {
      count++;
      if (count < number) kept = mapped(inputs, (input) => (isTensor(input) ? fresh(input) : input));
      const fed = mapped(inputs, (input) => input);
      if (count >= number)
        for (const [name, input] of Object.entries(kept))
          if (isTensor(input) && isTensor(fed[name])) fed[name] = input;
      return run(fed);
    };
  });

/** Writes results into a ring of `size` sets of arrays. */
const ringOf = (size: number): Promise<Backend> =>
  running((run) => {
    const ring: Values[] = [];
    let count = 0;
    return async (inputs) => {
      const results = await run(inputs);
      const place = count++ % size;
      const known = ring[place];
      if (known === undefined) {
        ring[place] = results;
        return results;
      }
      for (const [name, value] of Object.entries(results)) known[name]?.data.set(value.data as never);
      return known;
    };
  });

/** Loses the commit of every `number`-th run. */
const losingCommits = async (number: number): Promise<Backend> =>
  wrapped(await reference(), {
    executable: (executable, { inner, bindings = [] }) => {
      let count = 0;
      return {
        run: async (inputs) => {
          count++;
          if (inner === undefined || count % number !== 0) return executable.run(inputs);
          const slots = bindings.flatMap(({ slot, output }) => (output === undefined ? [] : [slot]));
          const before = await inner.read(slots);
          const results = await executable.run(inputs);
          await inner.write(before);
          return results;
        },
      };
    },
  });

/** Loses every `number`-th write. */
const losingWrites = async (number: number): Promise<Backend> => {
  const counts = new WeakMap<State, number>();
  return wrapped(await reference(), {
    state: (state) => ({
      write: async (values) => {
        const count = (counts.get(state) ?? 0) + 1;
        counts.set(state, count);
        if (count % number !== 0) await state.write(values);
      },
    }),
  });
};

/** Every `number`-th upload gets the data of the one before it, as if handles had too few numbers. */
const staleUploads = async (number: number): Promise<Backend> => {
  let count = 0;
  let last: HostTensor | undefined;
  return wrapped(await reference(), {
    upload: (tensor, right) => {
      count++;
      const isSame =
        last !== undefined && last.dtype === tensor.dtype && last.shape.join() === tensor.shape.join();
      const given = count % number === 0 && isSame ? (last as HostTensor) : tensor;
      last = fresh(tensor);
      return right(given);
    },
  });
};

/** Leaks 64 bytes at every hundredth run. */
const leaking = async (): Promise<Backend> => {
  let left = 0;
  const backend = await reference();
  return wrapped(backend, {
    executable: (executable) => {
      let count = 0;
      let own = 0;
      return {
        run: (inputs) => {
          if (++count % 100 === 0) {
            own += 64;
            left += 64;
          }
          return executable.run(inputs);
        },
        dispose: async () => {
          await executable.dispose();
          left -= own;
          own = 0;
        },
      };
    },
    members: { stats: () => ({ ...backend.stats(), bytes: backend.stats().bytes + left }) },
  });
};

const AXES = ["many-runs", "repeat", "state", "order", "lifecycle", "stats", "transfer"];
const RUNS = [/^many-runs\//, /^many\//];
const PLAIN = "many-runs/plain/each-as-the-first";
const STATE = "many-runs/state/each-as-the-first";

export const manyRunsFaults: readonly WrongBackend[] = [
  ...[50, 64, 100, 128, 256, 512, 1_000].map(
    (number): WrongBackend => ({
      fault: `every ${number}th run gives the results of the run before`,
      factory: () => staleAt(number),
      axes: AXES,
      named: [PLAIN],
      consequences: RUNS,
    }),
  ),
  {
    fault: "the 777th run gives the results of the run before",
    factory: () => staleAt(777, true),
    axes: AXES,
    named: [PLAIN],
    consequences: RUNS,
  },
  {
    fault: "after 300 runs the arrays that are fed are not read",
    factory: () => notReadAfter(300),
    axes: AXES,
    named: [PLAIN],
    consequences: RUNS,
  },
  {
    fault: "results are in a ring of 32 sets of arrays",
    factory: () => ringOf(32),
    axes: AXES,
    named: [PLAIN],
    consequences: RUNS,
  },
  {
    fault: "every 100th commit is lost",
    factory: () => losingCommits(100),
    axes: AXES,
    named: [STATE, "many-runs/state/twenty-at-a-time"],
    consequences: RUNS,
  },
  {
    fault: "every 200th write is lost",
    factory: () => losingWrites(200),
    axes: AXES,
    named: ["many-runs/state/writes-and-reads"],
  },
  {
    fault: "every 400th upload is the one before",
    factory: () => staleUploads(400),
    axes: ["many-runs", "stats", "lifecycle"],
    named: ["many-runs/handles/that-come-and-go"],
  },
  {
    fault: "every 100th run leaves 64 bytes",
    factory: leaking,
    axes: AXES,
    named: [PLAIN, STATE],
    consequences: RUNS,
    message: /held|leak/,
  },
];
