import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { loadText } from "./text.js";

it("reads the files of a folder with as many words as asked for, or those that there are", async () => {
  const folder = mkdtempSync(join(tmpdir(), "mp-word-lm-"));
  try {
    writeFileSync(join(folder, "text.txt"), "A stone is a stone. A bird is no stone.\n\n".repeat(50));
    const [few, all] = [await loadText(folder, 4), await loadText(folder, 100)];
    // `<unk>`, `<eos>`, a, stone, is, the full stop, bird, no
    expect([few.vocabularySize, all.vocabularySize]).toEqual([4, 8]);
    expect(Math.max(...few.train)).toBe(3);
    expect(few.train.length).toBe(all.train.length);
    expect(all.summary).toMatchObject({ vocabulary: 8, sources: [{ name: "text.txt" }] });
  } finally {
    rmSync(folder, { recursive: true });
  }
});
