/** The program of each rank in the tests: `node rank-program.mjs SCENARIO`. Rank r prints lines `r {…}`. */
import { createHash } from "node:crypto";
import { mpi } from "../../dist/index.js";

const [scenario = "", limit] = process.argv.slice(2);
const ranks = await mpi(limit === undefined ? {} : { timeoutMs: Number(limit) });
const { rank, size } = ranks;
const say = (what) => process.stdout.write(`${rank} ${JSON.stringify(what)}\n`);
const bitsOf = (values) => createHash("sha256").update(values).digest("hex");
const outcomeOf = (work) =>
  work.then(
    () => "done",
    ({ code, message }) => ({ code, message }),
  );

/** Numbers of many magnitudes, different on each rank. */
function numbers(length, seed) {
  let state = seed;
  const values = new Float32Array(length);
  for (let at = 0; at < length; at++) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    values[at] = (state / 2 ** 31 - 1) * 2 ** ((state >>> 8) % 24);
  }
  return values;
}

const scenarios = {
  async sums() {
    const own = numbers(6_250_000, rank + 1);
    let ticks = 0;
    const timer = setInterval(() => ticks++, 1);
    const bits = [];
    for (let i = 0; i < 3; i++) {
      const values = own.slice();
      await ranks.allReduce(values);
      bits.push(bitsOf(values));
      if (i > 0) continue;
      const other = numbers(own.length, size - rank);
      const right = values.every((x, at) => x === Math.fround(own[at] + other[at]));
      say({ right });
    }
    clearInterval(timer);
    say({ bits, ticked: ticks > 0 });
  },
  async lengths() {
    const outcome = await outcomeOf(ranks.allReduce(new Float32Array(rank + 2)));
    say({ outcome, after: await outcomeOf(ranks.barrier()) });
    await ranks.dispose();
  },
  async others() {
    say(await outcomeOf(rank === 0 ? ranks.barrier() : ranks.broadcast()));
  },
  async early() {
    const waiting = rank === 0 ? Promise.resolve() : ranks.barrier();
    await outcomeOf(Promise.all([waiting, ranks.dispose()])).then(say);
  },
  async conformance() {
    const { runRanksConformance } = await import("@mp/conformance");
    const outcomes = await runRanksConformance(ranks);
    say({ ran: outcomes.length > 10, failures: outcomes.filter(({ failure }) => failure !== undefined) });
  },
  /** Σ weight · gradient / Σ weight over both ranks, which is exact; then a step of weight 0. */
  async weights() {
    const { float32, sgd, trainer } = await import("@mp/core");
    const { tensor } = await import("@mp/graph");
    const { div, mul } = await import("@mp/graph/ops");
    const { reference } = await import("@mp/graph/reference");
    const training = await trainer({
      backend: await reference(),
      params: { w: tensor(Float32Array.of(0), []) },
      // NaN where it has no weight.
      loss: ({ w }, { g, weight }) => {
        const loss = div(mul(mul(w, g), weight), weight);
        return { loss, weight, metrics: { g: div(mul(g, weight), weight) } };
      },
      optimizer: sgd({ learningRate: 1 }),
      precision: float32(),
      accumulate: 2,
      ranks,
      onWarning: () => undefined,
    });
    const batch = ([g, weight]) => ({
      g: tensor(Float32Array.of(g), []),
      weight: tensor(Float32Array.of(weight), []),
    });
    const windows = [
      [
        [1, 1],
        [3, 9],
      ],
      [
        [5, 0],
        [4, 6],
      ],
    ];
    const { applied, weight, metrics } = await training.step(...windows[rank].map(batch));
    const { w } = await training.parameters();
    say({ applied, weight, metrics, w: w.data[0] });
    const { applied: isEmptyApplied, reason } = await training.step(
      ...windows[rank].map(([g]) => batch([g, 0])),
    );
    say({ applied: isEmptyApplied, reason, counters: await training.counters() });
    await training.dispose();
  },
  async queue() {
    const values = [0, 1, 2].map((at) => Float32Array.of(at + rank));
    await Promise.all(values.map((value) => ranks.allReduce(value)));
    say(values.map(([value]) => value));
  },
  async again() {
    say(await outcomeOf(mpi()));
    const ends = [ranks.dispose(), ranks.dispose()];
    const during = await outcomeOf(ranks.barrier());
    await Promise.all(ends);
    await ranks.dispose();
    say([during, await outcomeOf(ranks.barrier()), await outcomeOf(mpi())]);
  },
  async death() {
    await ranks.barrier();
    if (rank === 1) process.kill(process.pid, "SIGKILL");
    for (;;) await ranks.allReduce(new Float32Array(100_000));
  },
  async late() {
    if (rank === 1) await new Promise(() => setInterval(() => {}, 1000));
    await ranks.barrier();
  },
  async exception() {
    if (rank === 1) throw new Error("a defect of the program");
    await ranks.barrier();
  },
  async leaves() {
    if (rank === 1) process.exit(0);
    await ranks.barrier();
  },
  async aborts() {
    if (rank === 1) ranks.abort(new Error("enough"));
    await ranks.barrier();
  },
};

await scenarios[scenario]();
if (process.exitCode === undefined) await ranks.dispose();
