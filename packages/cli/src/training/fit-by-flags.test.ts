// Tests the training of all apps: the files that a stopped run saves, and runs whose files cannot be written.
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type DataSource, float32, type HostTensor, sgd, type Tensor, tensor, trainer } from "@mp/core";
import type { Json } from "@mp/core/fit";
import { mul, reduceMean, sub } from "@mp/core/ops";
import { reference } from "@mp/core/reference";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { parseCommandLine } from "../command-line.js";
import type { AppContext } from "../run-app.js";
import { fitByFlags } from "./fit-by-flags.js";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "mp-train-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

type Batch = { readonly x: HostTensor<"f32"> };

/** Endless batches; `onTake` is called before each. */
const batchesOf = (onTake: (index: number) => void): DataSource<Batch> => ({
  iterate(cursor?: Json) {
    let index = typeof cursor === "number" ? cursor : 0;
    return {
      get cursor() {
        return index;
      },
      async next() {
        onTake(index);
        index++;
        return { done: false, value: { x: tensor(Float32Array.of(Math.sin(index)), [1]) } };
      },
    };
  },
});

/** Runs a command line. Stops it when batch `stopAt` is taken, or, as by a key press, soon after the first batch. */
async function run(flags: readonly string[], stopAt: number | "soon" = Number.POSITIVE_INFINITY) {
  const parsed = parseCommandLine({ name: "demo", description: "", flags: {} }, flags);
  if (parsed.kind !== "run") throw new Error(JSON.stringify(parsed));
  const { options } = parsed;
  const controller = new AbortController();
  const failures: string[] = [];
  const notes: string[] = [];
  const context: AppContext = {
    name: "demo",
    signal: controller.signal,
    progress: () => ({ update: () => {}, note: (line) => void notes.push(line), end: () => {} }),
    print: () => {},
    attempt: async (what, action) => {
      try {
        await action();
      } catch {
        failures.push(what);
      }
    },
  };
  const backend = await reference();
  await using training = await trainer({
    backend,
    params: { w: tensor(Float32Array.of(0.5), [1]) },
    loss: ({ w }, { x }: { readonly x: Tensor }) => {
      const error = sub(mul(w, x), 1);
      return reduceMean(mul(error, error));
    },
    optimizer: sgd({ learningRate: 0.1 }),
    precision: float32(),
    accumulate: options.accumulate,
    signal: controller.signal,
  });
  const batches = batchesOf((index) => {
    if (index === stopAt) controller.abort();
    if (index === 0 && stopAt === "soon") setTimeout(() => controller.abort(), 10);
  });
  const record = await fitByFlags({ training, batches, options, context, label: "demo" });
  return { record, failures, notes };
}

describe("a training by flags", () => {
  it("writes event files to a folder of its label", async () => {
    const events = join(folder, "events");
    const { record } = await run(["--backend", "reference", "--steps", "2", "--log", events]);
    expect(record.steps).toBe(2);
    const [file, ...more] = await readdir(join(events, "demo"));
    expect(file).toMatch(/^events\.out\.tfevents\./);
    expect(more).toEqual([]);
  });

  it.each([6, 7, 8])(
    "goes on bit for bit from where it was stopped within a step, at batch %i",
    async (at) => {
      const state = join(folder, "state");
      const flags = ["--backend", "reference", "--accumulate", "3", "--steps", "5"];
      const whole = await run(flags);
      const first = await run([...flags, "--save", state], at);
      expect(first.record.steps).toBe(2);
      expect(first.notes).toEqual([`--save ${state}: saved at step 2`]);
      const rest = await run([...flags, "--resume", state]);
      expect([...first.record.loss, ...rest.record.loss]).toEqual(whole.record.loss);
    },
  );

  it("stops before its first step with nothing to save", async () => {
    const state = join(folder, "state");
    const { record } = await run(["--accumulate", "65536", "--steps", "5", "--save", state], "soon");
    expect([record.steps, record.loss, existsSync(state)]).toEqual([0, [], false]);
  });

  it("tells where the report is", async () => {
    const page = join(folder, "page.html");
    const { notes } = await run(["--backend", "reference", "--steps", "2", "--report", page]);
    expect([notes, existsSync(page)]).toEqual([[`--report ${page}: written`], true]);
  });

  it("puts the run's metric first in the report", async () => {
    const page = join(folder, "page.html");
    const { record } = await run(["--backend", "reference", "--steps", "2", "--report", page]);
    const firstFact = () => /<dt>.*?<\/dt><dd>.*?<\/dd>/.exec(readFileSync(page, "utf8"))?.[0];
    expect(firstFact()).toContain("<dt>last loss</dt>");
    await record.conclude?.({ name: "accuracy", value: 0.123456789 });
    expect(firstFact()).toBe("<dt>accuracy</dt><dd>0.12346</dd>");
  });

  it("tells of files that cannot be written, and loses nothing by it", async () => {
    const gone = mkdtempSync(join(folder, "gone-"));
    const files = ["--save", join(gone, "state"), "--report", join(gone, "page.html")];
    const flags = ["--steps", "101", ...files];
    const parsed = run(flags);
    rmSync(gone, { recursive: true });
    const { record, failures, notes } = await parsed;
    expect(record.loss).toHaveLength(101);
    expect(failures).toEqual([`--save ${join(gone, "state")}`, `--report ${join(gone, "page.html")}`]);
    expect(notes.filter((note) => note.includes("not saved at step 100"))).toHaveLength(1);
  });
});
