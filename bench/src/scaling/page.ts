// docs/data-parallel-scaling.md, which the command writes as a whole.
import type { Machine } from "../machine.js";
import { markdownTable } from "../markdown-table.js";
import { type AllReduce, halving, ring, tree, type Wire } from "./all-reduce.js";
import { type RankWork, stepTime } from "./step-time.js";

/** Figures that two ranks measured on one machine. */
export interface Measured {
  /** Latency of an all-reduce of one number between two ranks. */
  readonly latencySeconds: number;
  /** Bytes of a large all-reduce between two ranks per second, spent on copies and additions, without a network. */
  readonly bytesPerSecond: number;
  readonly w2: RankWork & { readonly parameters: number };
  /** Speed of the matrix products of the LSTM workload W2 in float32. */
  readonly flopsPerSecond: number;
}

interface Network {
  readonly name: string;
  readonly bitsPerSecond: number;
  /** Latency of one message, assumed. */
  readonly latencySeconds: number;
}

const NETWORKS: readonly Network[] = [
  { name: "25 Gbit/s", bitsPerSecond: 25e9, latencySeconds: 10e-6 },
  { name: "400 Gbit/s", bitsPerSecond: 400e9, latencySeconds: 2e-6 },
];

const ALGORITHMS: Readonly<Record<string, AllReduce>> = { ring, tree, halving };
const RANKS = [1, 2, 4, 8, 16, 64, 256, 1024];

const BILLION = 1e9;
/** Tokens that a rank takes in a step of the large model. */
const TOKENS = 8192;
/** Assumed speed of a GPU's matrix products in a half dtype, in operations per second. */
const GPU_FLOPS = 400e12;

/** The cost of a message over the network and through the software at its end, whose cost was measured. */
const softwareWire = (
  { latencySeconds, bytesPerSecond }: Measured,
  { bitsPerSecond, latencySeconds: away }: Network,
): Wire => ({
  latencySeconds: latencySeconds + away,
  bytesPerSecond: 1 / (1 / bytesPerSecond + 8 / bitsPerSecond),
});

/** The cost of a message between GPUs that exchange data over the network without copies by the processor. */
const directWire = ({ bitsPerSecond, latencySeconds }: Network): Wire => ({
  latencySeconds,
  bytesPerSecond: bitsPerSecond / 8,
});

const seconds = (value: number): string => {
  if (value < 1) return `${(value * 1000).toPrecision(3)} ms`;
  return `${value < 100 ? value.toPrecision(3) : Math.round(value)} s`;
};

function table(work: RankWork, wireFor: (network: Network) => Wire): string {
  const columns = NETWORKS.flatMap((network) =>
    Object.entries(ALGORITHMS).map(([name, allReduce]) => ({ name, allReduce, network })),
  );
  const head = ["ranks", ...columns.map(({ name, network }) => `${network.name}, ${name}`)];
  const rows = RANKS.map((ranks) => [
    String(ranks),
    ...columns.map(({ allReduce, network }) => {
      const { seconds: time, efficiency } = stepTime(ranks, work, allReduce, wireFor(network));
      return `${seconds(time)} (${Math.round(100 * efficiency)} %)`;
    }),
  ]);
  return markdownTable(head, rows);
}

/** Formats the memory of weights, or of gradients or moments of as many elements, in gigabytes. */
const gigabytes = (parameters: number, bytesEach: number): string =>
  `${((parameters * bytesEach) / 1e9).toPrecision(3)} GB`;

export function scalingPage(measured: Measured, machine: Machine, date: string, versions: string): string {
  const { w2, latencySeconds, bytesPerSecond, flopsPerSecond } = measured;
  const flops = 6 * BILLION * TOKENS;
  const large = (perSecond: number, gradientBytes: number): RankWork => ({
    gradientBytes,
    seconds: flops / perSecond,
    deviation: w2.deviation,
  });
  const onGpu = large(GPU_FLOPS, 2 * BILLION);
  const software = softwareWire(measured, NETWORKS[1] as Network);
  const waiting = stepTime(1024, w2, halving, software).waitingSeconds;
  return `# Data-parallel steps up to 1024 ranks

**A simulation, not a measurement.** Each rank computes on a batch of its own, all ranks add up their gradients, and each updates its weights. How long such a step takes follows from what one rank needs, from latency and bandwidth, and from the schedule of messages; \`node bench/dist/scaling.js --write\` measures the first three on two ranks of one machine, simulates the messages and writes this page.

Measured on ${machine.processor}, ${machine.cores} cores, ${machine.memoryGigabytes} GB, Node ${machine.node}, ${versions}, ${date.slice(0, 10)}:

| | |
|---|---|
| all-reduce of one number between two ranks of one machine | ${(latencySeconds * 1e6).toPrecision(2)} µs |
| bandwidth of an all-reduce of W2's gradients between them, copies and additions included | ${(bytesPerSecond / 1e9).toPrecision(3)} GB/s |
| W2 in float32: parameters, gradients | ${(w2.parameters / 1e6).toPrecision(3)} million, ${(w2.gradientBytes / 1e6).toPrecision(3)} MB |
| W2's step on one rank, and its standard deviation | ${seconds(w2.seconds)}, ${(100 * w2.deviation).toPrecision(2)} % |
| W2's matrix products | ${(flopsPerSecond / 1e9).toPrecision(3)} GFLOP/s |

Assumed: a message takes ${NETWORKS.map((network) => `${network.latencySeconds * 1e6} µs more over ${network.name}`).join(", ")}, at its whole bandwidth, and messages do not share links. Every rank's step time is drawn from a normal distribution of the measured deviation; a step ends when the last rank has the sums. The exchange begins when the last microbatch is done: it does not overlap with the backward pass. In brackets: a rank's own step divided by that of all, which is the share of the ranks' time that computes.

*Ring*: 2 (p - 1) messages of n / p bytes. *Tree*: a binomial tree up and down, 2 log₂ p messages of n bytes. *Halving*: Rabenseifner's recursive halving and doubling, 2 log₂ p messages of n bytes in all up and n down, which MPICH takes for large buffers. Sources: Thakur, Rabenseifner, Gropp 2005; Hockney 1994.

## W2, batch 32 on each rank

${table(w2, (network) => softwareWire(measured, network))}

## A model of 1 billion parameters, ${TOKENS} tokens on each rank

6 operations for each parameter and token (Kaplan 2020), at the rate that W2's products have here; gradients are sent in float32:

${table(large(flopsPerSecond, 4 * BILLION), (network) => softwareWire(measured, network))}

On a GPU that is assumed to compute ${GPU_FLOPS / 1e12} TFLOP/s in a half, if gradients were sent as bfloat16 from the GPU's own memory, which takes another engine than MPI on the processor:

${table(onGpu, directWire)}

## What breaks first

1. **The tree**, at once: it sends the whole buffer in every round, so that its time grows with log₂ p times n, where the others stay below 2 n.
2. **The bandwidth of 25 Gbit/s**, for GPUs: moving 2 · 2 GB takes ${seconds((2 * 2 * BILLION) / directWire(NETWORKS[0] as Network).bytesPerSecond)} and computing ${seconds(onGpu.seconds)}. \`accumulate\` divides the exchange by the number of microbatches, at the price of a larger batch. On processors the step is long enough to hide it.
3. **The ring's latency**, from a few hundred ranks on: 2 (p - 1) messages of ${(w2.gradientBytes / 1024 / 1e3).toPrecision(2)} kB each for W2 at 1024 ranks. Halving needs 20.
4. **The slowest rank.** With ${(100 * w2.deviation).toPrecision(2)} % deviation the slowest of 1024 takes ${seconds(waiting)} longer than the average for W2; nothing but steadier machines helps.
5. **The batch**, before any of these matters for learning: 1024 ranks of 32 are a batch of 32 768, and the learning rate, warm-up and number of steps have to be chosen again (Goyal 2017; McCandlish 2018).
6. **Memory of a rank**, whatever their number: 1 billion parameters take ${gigabytes(BILLION, 4)} of weights, as much of gradients and ${gigabytes(BILLION, 8)} of Adam's moments on every rank. With \`shard: "optimizer"\` the moments are divided among the ranks, and so are the weights that the optimizer updates where a mixed precision keeps a copy in a half.
7. **Rank 0**, last: it writes the checkpoint while the others wait, and gathers what differs by rank (model state, cursors), which grows with their number. Save less often.
`;
}
