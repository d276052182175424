import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { killAndResume } from "./soak/kill-and-resume.js";
import { backends, part, randomOf, seed } from "./soak/size.js";

const KILLS = 100;

it.each(backends)("training on %s goes on bit for bit after being killed", async (backend) => {
  const folder = await mkdtemp(join(tmpdir(), "mp-resume-"));
  const random = randomOf(seed);
  try {
    const kills = part(KILLS);
    const statistics = await killAndResume({
      backend,
      folder,
      kills,
      steps: 60,
      killAfterMs: () => random() * 250,
    });
    console.log(`kill and resume on ${backend}, seed ${seed}: ${JSON.stringify(statistics)}`);
    expect(statistics.kills).toBe(kills);
    expect(statistics.finished).toBeGreaterThan(0);
  } finally {
    await rm(folder, { recursive: true });
  }
});
