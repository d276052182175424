import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, it } from "vitest";

const program = fileURLToPath(new URL("training-program.mjs", import.meta.url));
const command = fileURLToPath(new URL("../../bin/mp-mpi.js", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "mp-killed-"));
const STEPS = 60;
/** `MP_KILLS=50` for more. */
const KILLS = Number(process.env["MP_KILLS"] ?? 2);
/** How long the launcher may take once a rank is dead. */
const MOST_SECONDS = 60;

interface Outcome {
  readonly code: number | null;
  readonly errors: string;
  readonly hash: string | undefined;
  readonly seconds: number;
  /** Seconds from the kill to the launcher's end; undefined if the job had ended before. */
  readonly endedAfter: number | undefined;
}

interface Line {
  readonly rank?: number;
  readonly pid?: number;
  readonly hash?: string;
}

interface Job {
  readonly checkpoint: string;
  /** Whether the ranks divide the optimizer. */
  readonly isSharded?: boolean;
  /** Kills this rank `after` milliseconds after both have started. */
  readonly kill?: { readonly rank: number; readonly after: number };
}

/** Trains in two ranks, and may kill one of them. */
function train({ checkpoint, isSharded = false, kill }: Job): Promise<Outcome> {
  return new Promise((resolve, reject) => {
    const shard = isSharded ? ["optimizer"] : [];
    const words = ["run", "-n", "2", "node", program, checkpoint, String(STEPS), ...shard];
    const child = spawn(process.execPath, [command, ...words], { stdio: ["ignore", "pipe", "pipe"] });
    const pids = new Map<number, number>();
    let [rest, errors] = ["", ""];
    let hash: string | undefined;
    let [startedAt, killedAt] = [0, 0];
    const strike = (): void => {
      try {
        process.kill(pids.get(kill?.rank ?? 0) ?? 0, "SIGKILL");
        killedAt = performance.now();
      } catch {
        // It has ended before.
      }
    };
    let timer: NodeJS.Timeout | undefined;
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      const lines = (rest + text).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) {
        // MPICH's launcher has words of its own.
        if (!line.startsWith("{")) continue;
        const said = JSON.parse(line) as Line;
        hash ??= said.hash;
        if (said.rank === undefined || said.pid === undefined) continue;
        pids.set(said.rank, said.pid);
        if (pids.size < 2) continue;
        startedAt = performance.now();
        if (kill !== undefined) timer = setTimeout(strike, kill.after * 1000);
      }
    });
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      errors += text;
    });
    child.on("error", reject);
    child.on("close", (code) => {
      clearTimeout(timer);
      const now = performance.now();
      const endedAfter = killedAt === 0 ? undefined : (now - killedAt) / 1000;
      resolve({ code, errors, hash, seconds: (now - startedAt) / 1000, endedAfter });
    });
  });
}

let whole: Outcome;
beforeAll(async () => {
  whole = await train({ checkpoint: join(folder, "whole.safetensors") });
  expect(whole).toMatchObject({ code: 0, errors: "", hash: expect.any(String) as string });
});
afterAll(() => rmSync(folder, { recursive: true }));

it.each(Array.from({ length: KILLS }, (_, at) => at))(
  "a rank that is killed ends the job at once, and the job goes on with the same bits: moment %i",
  async (at) => {
    const checkpoint = join(folder, `${at}.safetensors`);
    // Four moments are each rank with and without a divided optimizer, and the first two differ in both.
    const kill = { rank: (at ^ (at >> 1)) & 1, after: Math.random() * whole.seconds };
    const isSharded = at % 2 === 1;
    const killed = await train({ checkpoint, isSharded, kill });
    if (killed.endedAfter !== undefined && killed.code !== 0) {
      expect(killed.endedAfter).toBeLessThan(MOST_SECONDS);
      expect(killed.errors.match(/\[MP_[A-Z_]+\]/g)).toEqual(["[MP_BACKEND_FAILED]"]);
    }
    // A half-written checkpoint would not load. After one of the last step, no step is left, which only warns.
    const goesOn = await train({ checkpoint, isSharded: !isSharded });
    expect(goesOn, `killed ${JSON.stringify({ ...kill, isSharded })}`).toMatchObject({
      code: 0,
      hash: whole.hash,
    });
  },
);
