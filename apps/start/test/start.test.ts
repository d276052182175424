import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { reference } from "@mp/core/reference";
import { expect, it } from "vitest";
import { compareSpeed } from "../src/speed/compare-speed.js";
import { CONTEXT, encode, takeBatch } from "../src/text.js";

const app = join(import.meta.dirname, "..");

interface Standalone {
  readonly dependencies: Readonly<Record<string, string>>;
}
const standalone = (file: string): string => readFileSync(join(app, "standalone", file), "utf8");

it("shows what float16 alone loses, and that mixed precision does not", () => {
  const folder = mkdtempSync(join(tmpdir(), "mp-start-"));
  try {
    const page = join(folder, "new", "page.html");
    const flags = ["--pretraining", "40", "--steps", "12", "--report", page];
    const printed = execFileSync(process.execPath, [join(app, "dist", "main.js"), ...flags], {
      encoding: "utf8",
      stdio: ["ignore", "pipe", "ignore"],
    });
    const lost = (name: string): number =>
      Number(new RegExp(`^${name} +[\\d.]+ +[\\d.]+ +([\\d.]+) %`, "m").exec(printed)?.[1]);
    expect(lost("float32")).toBeLessThan(1);
    expect(lost("mixed precision")).toBeLessThan(1);
    expect(lost("float16 alone")).toBeGreaterThan(20);
    expect(printed).toContain(`Alone, float16 lost ${lost("float16 alone").toFixed(1)} % of the updates`);
    expect(printed).toContain(page);
    for (const name of ["float32", "mixed precision", "float16 alone"])
      expect(readFileSync(page, "utf8")).toContain(`${name}: from `);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

it("the same batches in every run, each character before the next", () => {
  const text = encode("The cat sat on the mat.\nThen the cat slept.\n");
  const { before, next } = takeBatch(text, 3, 5);
  expect(takeBatch(text, 3, 5)).toEqual({ before, next });
  expect(takeBatch(text, 3, 6)).not.toEqual({ before, next });
  const seen = Array.from(before.data.subarray(0, CONTEXT), Number);
  const places = Array.from(text.keys()).filter((start) => seen.every((one, i) => text[start + i] === one));
  expect(places.map((start) => text[start + CONTEXT])).toContain(next.data[0]);
  expect([...encode("\n é~")]).toEqual([0, 1, 1, 95]);
});

it("times nothing on an engine that emulates bfloat16", async () => {
  const backend = await reference();
  const sizes = { embedding: 1, hidden: 1, batch: 1 };
  expect(await compareSpeed(backend, sizes, 0)).toContain("does not compute bfloat16 natively");
  const { bf16 } = backend.manifest.dtypes;
  const native = { ...backend.manifest.dtypes, bf16: { ...bf16, compute: "native" as const } };
  const manifest = { ...backend.manifest, dtypes: native };
  const claiming = new Proxy(backend, {
    get: (target, name) => {
      const value: unknown = name === "manifest" ? manifest : Reflect.get(target, name, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
  expect(await compareSpeed(claiming, sizes, 0)).toMatch(
    /takes [\d.]+ ms in float32 and [\d.]+ ms in mixed bfloat16 \(the fastest of 3 steps/,
  );
});

it("is installed alone in the versions of the workspace", () => {
  const workspace = ["pnpm-workspace.yaml", "packages/callbacks/package.json"]
    .map((file) => readFileSync(join(app, "..", "..", file), "utf8"))
    .join("\n");
  const { dependencies } = JSON.parse(standalone("package.json")) as Standalone;
  const { packages } = JSON.parse(standalone("package-lock.json")) as {
    readonly packages: Readonly<Record<string, Standalone>>;
  };
  expect(packages[""]?.dependencies).toEqual(dependencies);
  for (const [name, version] of Object.entries(dependencies))
    expect(workspace).toMatch(new RegExp(`^ +"?${name}"?: "?${version}"?,?$`, "m"));
});
