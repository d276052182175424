import { existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { killAndResume } from "../../../core/test/soak/kill-and-resume.js";
import { part, randomOf, seed } from "../../../core/test/soak/size.js";

const KILLS = 100;

/** Each process compiles, or loads what one before it has compiled: the bits of every step must be the same. */
it.each([
  ["xla", false],
  ["xla with a cache", true],
])("training on %s goes on bit for bit after being killed", async (backend, isCached) => {
  const folder = mkdtempSync(join(tmpdir(), "mp-xla-resume-"));
  const random = randomOf(seed);
  try {
    const kills = part(KILLS);
    const run = { backend, folder, kills, steps: 30, killAfterMs: () => random() * 100 };
    const statistics = await killAndResume(run);
    console.log(`kill and resume on ${backend}, seed ${seed}: ${JSON.stringify(statistics)}`);
    expect(statistics.kills).toBe(kills);
    expect(statistics.finished).toBeGreaterThan(0);
    const programs = join(folder, "programs");
    expect(existsSync(programs) && readdirSync(programs).length > 0).toBe(isCached);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
