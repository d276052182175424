import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { killWhileSaving } from "./soak/kill-while-saving.js";

it("a killed process leaves the last checkpoint or the one before it, whole", async () => {
  const directory = await mkdtemp(join(tmpdir(), "mp-kill-"));
  try {
    const path = join(directory, "model.safetensors");
    const statistics = await killWhileSaving({ path, kills: 4, killAfterMs: () => Math.random() * 60 });
    expect(statistics.kills).toBe(4);
    expect(statistics.saves).toBeGreaterThanOrEqual(4);
  } finally {
    await rm(directory, { recursive: true });
  }
});
