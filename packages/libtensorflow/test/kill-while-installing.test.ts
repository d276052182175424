import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { cpSync, existsSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { removeScratch, scratch } from "@mp/wheels/scratch";
import { afterEach, expect, it } from "vitest";
import { fakeCompiler, fakeTfjsNode } from "./fixtures/fake-tfjs-node.js";
import { fakeWheel } from "./fixtures/fake-wheel.js";

afterEach(removeScratch);

// The built command, so the package must be built.
const command = fileURLToPath(new URL("../dist/mp-libtensorflow.js", import.meta.url));

/** Where a run of the command kills itself: after its n-th line, or before its n-th use of the disk. */
interface Kill {
  readonly line?: number;
  readonly use?: number;
}

const preloadOf = ({ line = Number.POSITIVE_INFINITY, use = Number.POSITIVE_INFINITY }: Kill): string => `
  import disk from "node:fs/promises";
  import { syncBuiltinESMExports } from "node:module";
  let [lines, uses] = [${line}, ${use}];
  const { write } = process.stdout;
  process.stdout.write = (text, ...rest) => {
    write.call(process.stdout, text, ...rest);
    lines -= String(text).split("\\n").length - 1;
    if (lines <= 0) process.kill(process.pid, "SIGKILL");
    return true;
  };
  for (const [name, call] of Object.entries(disk))
    if (typeof call === "function")
      disk[name] = (...given) => {
        uses -= 1;
        if (uses <= 0) process.kill(process.pid, "SIGKILL");
        return call(...given);
      };
  syncBuiltinESMExports();`;

/** Runs the command. @returns the lines that it printed */
async function run(root: string, wheel: string, kill: Kill = {}) {
  const preload = `data:text/javascript,${encodeURIComponent(preloadOf(kill))}`;
  const env = { ...process.env, XDG_CACHE_HOME: join(root, "cache"), CXX: join(root, "fake-c++") };
  const given = ["--import", preload, command, "--wheel", wheel];
  const child = spawn(process.execPath, given, { cwd: root, env });
  const ended = once(child, "close") as Promise<[number | null, string | null]>;
  const [output, errors] = await Promise.all([text(child.stdout), text(child.stderr)]);
  const [code, signal] = await ended;
  const lines = output.split("\n").slice(0, -1);
  return { lines: lines.map((line) => line.split(" ")[0] ?? ""), ended: code ?? signal, errors };
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
  const saved = scratch();
  const places = ["cache", "node_modules"];
  const copy = (from: string, to: string): void => {
    for (const place of places) {
      rmSync(join(to, place), { recursive: true, force: true });
      cpSync(join(from, place), join(to, place), { recursive: true, verbatimSymlinks: true });
    }
  };
  copy(root, saved);
  const kills: readonly Kill[] = [
    ...first.lines.map((_, i) => ({ line: i + 1 })),
    ...[3, 9, 15, 21].map((use) => ({ use })),
  ];
  for (const kill of kills) {
    copy(saved, root);
    const { ended, errors } = await run(root, releases.new, kill);
    expect({ ended, errors }, JSON.stringify(kill)).toEqual({ ended: "SIGKILL", errors: "" });
    expect(["2.19.0", "2.20.0"]).toContain(working(root));
    expect(await run(root, releases.new)).toMatchObject({ ended: 0, errors: "" });
    expect(working(root)).toBe("2.20.0");
    const left = [folder, join(root, "cache")]
      .filter((place) => existsSync(place))
      .flatMap((place) => readdirSync(place, { recursive: true }).map(String))
      .filter((name) => name.includes(".partial-"));
    expect(left).toEqual([]);
  }
});
