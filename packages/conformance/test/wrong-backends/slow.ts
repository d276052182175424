/**
 * The oracle as a slow engine, so that calls which are not awaited form a queue. It is correct itself; its parts can
 * be replaced by calls that do not wait.
 */
import {
  type Backend,
  type Executable,
  type HostTensor,
  MpError,
  type RunInput,
  type State,
} from "@mp/graph";
import { WorkQueue } from "@mp/graph/internal";
import { reference } from "@mp/graph/reference";
import { fresh } from "../../src/fresh.js";
import { type Compiled, isTensor, mapped, wrapped } from "./wrapped.js";

type Inputs = Readonly<Record<string, RunInput>>;

/** Waits for a few turns of the event loop. */
export const aWhile = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 2));

/** Copies the current contents of the caller's arrays. */
export const taken = (inputs: Inputs): Inputs =>
  mapped(inputs, (input) => (isTensor(input) ? fresh<RunInput>(input) : input));

export interface SlowFaults {
  readonly state?: (state: State, queue: WorkQueue) => Partial<State>;
  readonly executable?: (executable: Executable, queue: WorkQueue, compiled: Compiled) => Partial<Executable>;
}

export async function slow(faults: SlowFaults = {}): Promise<Backend> {
  const queues = new Map<object, WorkQueue>();
  const queueOf = (owner: object): WorkQueue => {
    const queue = queues.get(owner) ?? new WorkQueue();
    queues.set(owner, queue);
    return queue;
  };
  const backend = await reference();
  let disposal: Promise<void> | undefined;
  const expectAlive = (): void => {
    if (disposal !== undefined) throw new MpError("MP_DISPOSED", "slow: the backend has been disposed");
  };
  return wrapped(backend, {
    compile: async (_, right) => {
      expectAlive();
      return right();
    },
    state: (state) => {
      const queue = queueOf(state);
      return { ...slowState(state, queue, expectAlive), ...faults.state?.(state, queue) };
    },
    executable: (executable, compiled) => {
      const queue = queueOf(compiled.inner ?? executable);
      return {
        ...slowExecutable(executable, queue, expectAlive),
        ...faults.executable?.(executable, queue, compiled),
      };
    },
    members: {
      dispose: () => {
        disposal ??= Promise.all([...queues.values()].map((queue) => queue.push(async () => undefined))).then(
          () => backend.dispose(),
        );
        return disposal;
      },
    },
  });
}

function slowState(state: State, queue: WorkQueue, expectAlive: () => void): Partial<State> {
  let disposal: Promise<void> | undefined;
  return {
    read: async (names) => {
      expectAlive();
      return queue.push(() => state.read(names));
    },
    write: async (values) => {
      expectAlive();
      const kept = fresh<Readonly<Record<string, HostTensor>>>(values);
      return queue.push(() => state.write(kept));
    },
    dispose: () => {
      disposal ??= queue.push(() => state.dispose());
      return disposal;
    },
  };
}

/** Copies the inputs of a run when it is called; the run waits its turn and then takes a while. */
function slowExecutable(
  executable: Executable,
  queue: WorkQueue,
  expectAlive: () => void,
): Partial<Executable> {
  let disposal: Promise<void> | undefined;
  return {
    run: async (inputs) => {
      expectAlive();
      const kept = taken(inputs);
      return queue.push(() => aWhile().then(() => executable.run(kept)));
    },
    profile: async (inputs) => {
      expectAlive();
      const kept = taken(inputs);
      return queue.push(() => aWhile().then(() => executable.profile?.(kept) ?? []));
    },
    dispose: () => {
      disposal ??= queue.push(() => executable.dispose());
      return disposal;
    },
  };
}
