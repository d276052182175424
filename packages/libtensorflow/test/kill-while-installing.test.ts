import { spawn, spawnSync } from "node:child_process";
import { existsSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { removeScratch, scratch } from "@mp/wheels/scratch";
import { afterEach, expect, it } from "vitest";
import { fakeCompiler, fakeTfjsNode } from "./fixtures/fake-tfjs-node.js";
import { fakeWheel } from "./fixtures/fake-wheel.js";

afterEach(removeScratch);

// The built command, so the package must be built.
const command = fileURLToPath(new URL("../dist/mp-libtensorflow.js", import.meta.url));

/** Runs the command and kills it at its n-th line, or after some time. @returns the lines that it printed */
function run(
  root: string,
  wheel: string,
  killAt: { readonly line?: number; readonly afterMs?: number } = {},
): Promise<{
  readonly lines: readonly string[];
  readonly ended: number | string | null;
  readonly errors: string;
}> {
  return new Promise((resolve, reject) => {
    const env = { ...process.env, XDG_CACHE_HOME: join(root, "cache"), CXX: join(root, "fake-c++") };
    const child = spawn(process.execPath, [command, "--wheel", wheel], { cwd: root, env });
    let output = "";
    let errors = "";
    const lines = () => output.split("\n").slice(0, -1);
    const timer =
      killAt.afterMs === undefined ? undefined : setTimeout(() => child.kill("SIGKILL"), killAt.afterMs);
    child.stdout.on("data", (data: Buffer) => {
      output += data.toString();
      if (killAt.line !== undefined && lines().length >= killAt.line) child.kill("SIGKILL");
    });
    child.stderr.on("data", (data: Buffer) => {
      errors += data.toString();
    });
    child.on("error", reject);
    child.on("close", (code, signal) => {
      clearTimeout(timer);
      resolve({ lines: lines().map((line) => line.split(" ")[0] ?? ""), ended: code ?? signal, errors });
    });
  });
}

/** The release that a program of the project would use; loading it must never fail. */
function working(root: string): string {
  const program = `process.stdout.write(require("@tensorflow/tfjs-node").findBackend("tensorflow").binding.TF_Version)`;
  const { status, stdout, stderr } = spawnSync(process.execPath, ["--eval", program], {
    cwd: root,
    env: { PATH: process.env["PATH"] },
    encoding: "utf8",
  });
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  return stdout;
}

it("a kill at any moment leaves the old release working or the new one, and the next run finishes", async () => {
  const root = scratch();
  const folder = fakeTfjsNode(root);
  fakeCompiler(root);
  const releases = {
    old: fakeWheel(root, { version: "2.19.0" }),
    new: fakeWheel(root, { version: "2.20.0" }),
  };
  const first = await run(root, releases.old);
  expect(first).toMatchObject({ ended: 0, errors: "" });
  const steps = first.lines.length;
  const kills = [
    ...Array.from({ length: steps }, (_, i) => ({ line: i + 1 })),
    ...[80, 160, 240, 320].map((afterMs) => ({ afterMs })),
  ];
  let killed = 0;
  for (const kill of kills) {
    rmSync(join(root, "cache"), { recursive: true, force: true });
    expect(await run(root, releases.old)).toMatchObject({ ended: 0, errors: "" });
    const { ended } = await run(root, releases.new, kill);
    if (ended === "SIGKILL") killed += 1;
    expect(["2.19.0", "2.20.0"]).toContain(working(root));
    expect(await run(root, releases.new)).toMatchObject({ ended: 0, errors: "" });
    expect(working(root)).toBe("2.20.0");
    const left = [folder, join(root, "cache")]
      .filter((place) => existsSync(place))
      .flatMap((place) => readdirSync(place, { recursive: true }).map(String))
      .filter((name) => name.includes(".partial-"));
    expect(left).toEqual([]);
  }
  expect(killed).toBeGreaterThanOrEqual(steps);
});
