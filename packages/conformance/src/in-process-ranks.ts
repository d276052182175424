import { MpError, type Ranks } from "@mp/graph";

/** A collective in which some ranks wait for the others. */
interface Meeting {
  readonly what: string;
  readonly calls: Map<number, Call>;
}

interface Call {
  /** Values of an all-reduce, replaced in place. */
  readonly values: Float32Array;
  /** Bytes that this rank sends to the others. */
  readonly bytes: Uint8Array;
  resolve(gathered: readonly Uint8Array[]): void;
  reject(error: unknown): void;
}

const NO_VALUES = new Float32Array();
const NO_BYTES = new Uint8Array();

/**
 * Ranks of one process that meet in each collective, for tests of code that uses `Ranks`, without MPI. All ranks are
 * in the calling thread and must be awaited at the same time, as by `Promise.all`. If a rank makes no call, the
 * others wait forever, as with MPI.
 * @throws MP_INVALID_ARGUMENT on all ranks, from then on, if ranks call different collectives, pass values of
 *   different lengths, or call a collective before the last one is done
 */
export function inProcessRanks(size: number): readonly Ranks[] {
  if (!Number.isSafeInteger(size) || size < 1)
    throw new MpError(
      "MP_INVALID_ARGUMENT",
      `inProcessRanks: the size must be a number of ranks, got ${size}`,
    );
  const room = new Room(size);
  return Array.from({ length: size }, (_, rank) => rankIn(room, rank));
}

function rankIn(room: Room, rank: number): Ranks {
  const meet = (what: string, given: { values?: Float32Array; bytes?: Uint8Array | undefined } = {}) =>
    room.meet(rank, what, given.values ?? NO_VALUES, given.bytes ?? NO_BYTES);
  return {
    rank,
    size: room.size,
    allReduce: async (values) => {
      await meet("allReduce", { values });
    },
    allGather: (bytes) => meet("allGather", { bytes }),
    broadcast: async (bytes) => {
      const [first] = await meet("broadcast", { bytes });
      return first ?? NO_BYTES;
    },
    barrier: async () => {
      await meet("barrier");
    },
    abort: (error) => room.abort(error),
  };
}

function findProblem({ what, calls }: Meeting, rank: number, called: string): string | undefined {
  if (calls.has(rank)) return `rank ${rank} called ${called} before its ${what} was done`;
  const [other] = calls.keys();
  return called === what || other === undefined
    ? undefined
    : `rank ${rank} called ${called} where rank ${other} called ${what}`;
}

class Room {
  readonly size: number;
  #meeting: Meeting | undefined;
  #failure: { readonly error: unknown } | undefined;

  constructor(size: number) {
    this.size = size;
  }

  meet(rank: number, what: string, values: Float32Array, bytes: Uint8Array): Promise<readonly Uint8Array[]> {
    return new Promise((resolve, reject) => {
      if (this.#failure !== undefined) return reject(this.#failure.error);
      this.#meeting ??= { what, calls: new Map() };
      const meeting = this.#meeting;
      const problem = findProblem(meeting, rank, what);
      if (problem !== undefined) return reject(this.#fail(problem));
      // Copies the bytes, so that a rank's later writes to them do not reach other ranks.
      meeting.calls.set(rank, { values, bytes: bytes.slice(), resolve, reject });
      if (meeting.calls.size === this.size) this.#close(meeting);
    });
  }

  #close({ calls }: Meeting): void {
    const all = Array.from({ length: this.size }, (_, rank) => calls.get(rank) as Call);
    const lengths = all.map(({ values }) => values.length);
    const unlike = lengths.findIndex((length) => length !== lengths[0]);
    if (unlike !== -1) {
      this.#fail(`allReduce got ${lengths[unlike]} values of rank ${unlike} and ${lengths[0]} of rank 0`);
      return;
    }
    this.#meeting = undefined;
    // Sums in rank order and in f32, so that every rank gets the same bits.
    const sums = all
      .map(({ values }) => values)
      .reduce((sum, terms) => sum.map((x, at) => x + (terms[at] as number)));
    for (const { values, resolve } of all) {
      values.set(sums);
      resolve(all.map(({ bytes }) => bytes.slice()));
    }
  }

  #fail(problem: string): MpError {
    const error = new MpError("MP_INVALID_ARGUMENT", `inProcessRanks: ${problem}`);
    this.#end(error);
    return error;
  }

  abort(error: unknown): never {
    this.#end(error);
    throw error;
  }

  #end(error: unknown): void {
    this.#failure ??= { error };
    for (const { reject } of this.#meeting?.calls.values() ?? []) reject(error);
    this.#meeting = undefined;
  }
}
