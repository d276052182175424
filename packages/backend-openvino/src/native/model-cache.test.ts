import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { ModelCache } from "./model-cache.js";

let root = "";
beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), "mp-models-"));
});
afterAll(() => rmSync(root, { recursive: true }));

const MODEL = Uint8Array.of(1, 2, 3);

/** Acts like the library: reads the file in the folder, or creates it. */
async function compiled(folder: string | undefined): Promise<string> {
  if (folder === undefined) return "compiled, not kept";
  const file = join(folder, "model.blob");
  if (existsSync(file)) return `read ${readFileSync(file, "latin1")}`;
  writeFileSync(file, "blob");
  return "compiled";
}

/** The names of the model folders in a cache. */
const models = (folder: string): string[] => readdirSync(folder);

it("keeps models by their bytes, their settings and by what they depend on", async () => {
  const folder = join(root, "a", "b");
  const cache = new ModelCache(folder, ["build", "processor"]);
  expect(await cache.compile(MODEL, "", compiled)).toBe("compiled");
  expect(await cache.compile(MODEL, "", compiled)).toBe("read blob");
  expect(await cache.compile(Uint8Array.of(1, 2, 4), "", compiled)).toBe("compiled");
  const other = new ModelCache(folder, ["build", "another processor"]);
  expect(await other.compile(MODEL, "", compiled)).toBe("compiled");
  expect(await cache.compile(MODEL, "threads", compiled)).toBe("compiled");
  expect(models(folder)).toHaveLength(4);
});

it("compiles again what is damaged, whichever file and byte", async () => {
  const folder = join(root, "damaged");
  const cache = new ModelCache(folder, []);
  await cache.compile(MODEL, "", compiled);
  const [model] = models(folder) as [string];
  for (const name of ["model.blob", "SHA256SUMS"]) {
    const file = join(folder, model, name);
    const whole = readFileSync(file);
    for (const damaged of [whole.subarray(1), whole.subarray(0, -1), Buffer.alloc(0), flipped(whole)]) {
      writeFileSync(file, damaged);
      expect(await cache.compile(MODEL, "", compiled)).toBe("compiled");
      expect(await cache.compile(MODEL, "", compiled)).toBe("read blob");
    }
  }
});

function flipped(bytes: Uint8Array): Uint8Array {
  const changed = Uint8Array.from(bytes);
  changed.set([(changed[2] ?? 0) ^ 1], 2);
  return changed;
}

it("leaves one whole model where two compile it at once", async () => {
  const folder = join(root, "two");
  const caches = [new ModelCache(folder, []), new ModelCache(folder, [])];
  let begun = 0;
  let release = (): void => {};
  const bothHaveBegun = new Promise<void>((resolve) => {
    release = resolve;
  });
  const together = async (place: string | undefined): Promise<string> => {
    begun += 1;
    if (begun === 2) release();
    await bothHaveBegun;
    return compiled(place);
  };
  expect(await Promise.all(caches.map((cache) => cache.compile(MODEL, "", together)))).toEqual([
    "compiled",
    "compiled",
  ]);
  expect(models(folder)).toHaveLength(1);
  expect(await caches[0]?.compile(MODEL, "", compiled)).toBe("read blob");
});

it("keeps nothing of a model that does not compile, and says why it does not", async () => {
  const folder = join(root, "failing");
  const failing = (): Promise<never> => Promise.reject(new Error("no such operator"));
  await expect(new ModelCache(folder, []).compile(MODEL, "", failing)).rejects.toThrow("no such operator");
  expect(models(folder)).toEqual([]);
});

it("compiles all the same where the folder is gone for good", async () => {
  const folder = join(root, "gone");
  const cache = new ModelCache(folder, []);
  rmSync(folder, { recursive: true });
  writeFileSync(folder, "a file");
  expect(await cache.compile(MODEL, "", compiled)).toBe("compiled, not kept");
  expect(() => new ModelCache(folder, [])).toThrow(
    expect.objectContaining({ code: "MP_IO", message: expect.stringMatching(/cache must be a folder/) }),
  );
});
