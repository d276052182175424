import { execFile } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { deserialize } from "node:v8";
import { locateLibrary } from "@mp/libopenvino";
import { afterAll, beforeAll, expect, it } from "vitest";
import { keepValue } from "../../src/probe/kept-value.js";

const PROGRAM = fileURLToPath(new URL("programs/opening.mjs", import.meta.url));

let cache = "";
beforeAll(() => {
  cache = mkdtempSync(join(tmpdir(), "mp-findings-"));
});
afterAll(() => rmSync(cache, { recursive: true }));

interface Opened {
  readonly erf: unknown;
  readonly milliseconds: number;
}

/** Opens in a process of its own. */
async function opened(home = cache): Promise<Opened> {
  const { stdout } = await promisify(execFile)(process.execPath, [PROGRAM], {
    env: { ...process.env, XDG_CACHE_HOME: home, MP_OPENVINO: locateLibrary(undefined, process.env) },
  });
  return JSON.parse(stdout) as Opened;
}

const folder = (): string => join(cache, "mp", "libopenvino", "findings");
/** The file of the findings. */
const file = (): string => {
  const names = readdirSync(folder());
  expect(names).toEqual([expect.stringMatching(/^[0-9a-f]{16}$/)]);
  return join(folder(), names[0] as string);
};

it("keeps the findings of two processes that probe at once, as one whole file", async () => {
  const [one, other] = await Promise.all([opened(), opened()]);
  expect(one.erf).toEqual(other.erf);
  expect(one.erf).toContain("f32");
  file();
});

it("opens with what was kept, and probes nothing", async () => {
  const { ino } = statSync(file());
  const text = readFileSync(file(), "utf8");
  const { of, value } = deserialize(readFileSync(file()).subarray(64)) as {
    of: string;
    value: { missing: ReadonlyMap<string, string> };
  };
  const { erf } = await opened();
  expect([erf, statSync(file()).ino]).toEqual([expect.arrayContaining(["f32"]), ino]);
  const dtypes = Array.isArray(erf) ? erf : [];
  const missing = new Map([
    ...value.missing,
    ...dtypes.map((dtype) => [`Erf ${dtype}`, "as it was kept"] as const),
  ]);
  keepValue(file(), of, { ...value, missing });
  expect((await opened()).erf).toEqual({ unsupported: "as it was kept" });
  keepValue(file(), `${of} of another library`, { ...value, missing });
  expect((await opened()).erf).toEqual(erf);
  expect(readFileSync(file(), "utf8")).toBe(text);
});

it("probes again where the file is damaged", async () => {
  const text = readFileSync(file(), "utf8");
  writeFileSync(file(), text.slice(0, -7));
  expect((await opened()).erf).toContain("f32");
  expect(readFileSync(file(), "utf8")).toBe(text);
});

it("opens where nothing can be kept", async () => {
  expect((await opened(process.execPath)).erf).toContain("f32");
});
