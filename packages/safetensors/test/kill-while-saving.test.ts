import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { killWhileSaving } from "./soak/kill-while-saving.js";
import { part, randomOf, seed } from "./soak/size.js";

const KILLS = 200;

it("a killed process leaves the last checkpoint or the one before it, whole", async () => {
  const directory = await mkdtemp(join(tmpdir(), "mp-kill-"));
  try {
    const path = join(directory, "model.safetensors");
    const random = randomOf(seed);
    const kills = part(KILLS);
    const statistics = await killWhileSaving({ path, kills, killAfterMs: () => random() * 60 });
    console.log(`kills while saving, seed ${seed}: ${JSON.stringify(statistics)}`);
    expect(statistics.kills).toBe(kills);
    expect(statistics.saves).toBeGreaterThanOrEqual(kills);
  } finally {
    await rm(directory, { recursive: true });
  }
});
