/**
 * Models all-reduce as messages between ranks, and computes when each rank has the sums. Costs of a message are
 * Hockney's, latency + bytes / bandwidth (Thakur, Rabenseifner, Gropp 2005, "Optimization of Collective Communication
 * Operations in MPICH"). Ranks begin when they are ready, so that a slow rank holds up the others as it would in a run.
 */

/** Cost of a message; copies and additions at its end count as part of the bandwidth. */
export interface Wire {
  readonly latencySeconds: number;
  readonly bytesPerSecond: number;
}

/** Seconds at which each rank is done, given the seconds at which each is ready. */
export type AllReduce = (ready: readonly number[], bytes: number, wire: Wire) => readonly number[];

const move = (bytes: number, { latencySeconds, bytesPerSecond }: Wire): number =>
  latencySeconds + bytes / bytesPerSecond;

/** Sends each rank a message. A rank continues once it and its partner have finished and the message has arrived. */
const exchange = (
  times: readonly number[],
  partner: (rank: number) => number,
  seconds: number,
): readonly number[] => times.map((own, rank) => Math.max(own, times[partner(rank)] as number) + seconds);

/** A ring of ranks - 1 rounds that add and as many that share. In each, a rank sends bytes / ranks to the next rank. */
export const ring: AllReduce = (ready, bytes, wire) => {
  const ranks = ready.length;
  const block = bytes / ranks;
  const before = (rank: number): number => (rank + ranks - 1) % ranks;
  let times = ready;
  for (let round = 0; round < 2 * (ranks - 1); round++) times = exchange(times, before, move(block, wire));
  return times;
};

/** Sums go up a binomial tree to rank 0, and down again, as whole buffers, in 2 · log₂ ranks rounds. */
export const tree: AllReduce = (ready, bytes, wire) => {
  const times = [...ready];
  const ranks = times.length;
  const strides: number[] = [];
  for (let stride = 1; stride < ranks; stride *= 2) strides.push(stride);
  const pairs = (stride: number): readonly (readonly [number, number])[] =>
    times.flatMap((_, rank) =>
      rank % (2 * stride) === 0 && rank + stride < ranks ? [[rank, rank + stride] as const] : [],
    );
  const at = (rank: number): number => times[rank] as number;
  for (const stride of strides)
    for (const [parent, child] of pairs(stride))
      times[parent] = Math.max(at(parent), at(child)) + move(bytes, wire);
  for (const stride of strides.toReversed())
    for (const [parent, child] of pairs(stride)) {
      times[child] = Math.max(at(parent), at(child)) + move(bytes, wire);
      times[parent] = at(parent) + move(bytes, wire);
    }
  return times;
};

/**
 * Rabenseifner's algorithm, for a power of two ranks: partners exchange and add halves of the buffer, then quarters,
 * and so on; the sums then come back in the opposite order.
 */
export const halving: AllReduce = (ready, bytes, wire) => {
  const rounds = Math.log2(ready.length);
  if (!Number.isInteger(rounds)) throw new RangeError(`halving: ${ready.length} is not a power of two`);
  let times = ready;
  const sizes = Array.from({ length: rounds }, (_, round) => bytes / 2 ** (round + 1));
  sizes.forEach((size, round) => {
    times = exchange(times, (rank) => rank ^ (2 ** round), move(size, wire));
  });
  sizes.toReversed().forEach((size, round) => {
    times = exchange(times, (rank) => rank ^ (2 ** (rounds - 1 - round)), move(size, wire));
  });
  return times;
};
