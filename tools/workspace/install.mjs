import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fail } from "./fail.mjs";
import { manifestAt, members, root } from "./packages.mjs";

const lockfile = join(root, "pnpm-lock.yaml");
const installedLockfile = join(root, "node_modules", ".pnpm", "lock.yaml");
const stamp = join(root, "node_modules", ".installed");

/** Fails with one line where Node is older than package.json requires. */
export function requireNode() {
  const range = manifestAt(".").engines?.["node"] ?? "";
  const wanted = range.replace(/^>=/, "").split(".").map(Number);
  const given = process.versions.node.split(".").map(Number);
  for (let i = 0; i < wanted.length; i++) {
    const difference = (given[i] ?? 0) - (wanted[i] ?? 0);
    if (difference > 0) return;
    if (difference < 0)
      fail(`Node ${range} is needed, this is ${process.versions.node}: https://nodejs.org`, 2);
  }
}

/**
 * A hash of what an install depends on and what it produced. The second part detects a manual install from another
 * lockfile, which would leave the first part unchanged.
 */
function fingerprint() {
  const hash = createHash("sha256");
  const manifests = members().map(({ path }) => join(root, path, "package.json"));
  for (const file of [
    join(root, "package.json"),
    join(root, "pnpm-workspace.yaml"),
    lockfile,
    ...manifests,
    installedLockfile,
  ]) {
    hash.update(`${file}\n`).update(readFileSync(file)).update("\n");
  }
  return hash.digest("hex");
}

const isInstalled = () =>
  existsSync(stamp) && existsSync(installedLockfile) && readFileSync(stamp, "utf8") === fingerprint();

/** The pinned pnpm as npx names it, `pnpm@10.34.9`; npx takes it from node_modules if that version is there. */
function pnpmVersion() {
  const pinned = manifestAt(".").packageManager ?? "";
  if (!/^pnpm@\d/.test(pinned)) fail('package.json: "packageManager" should read "pnpm@<version>"');
  return pinned;
}

/**
 * @param {readonly string[]} args
 * @param {{ env?: NodeJS.ProcessEnv; stdio: import("node:child_process").StdioOptions }} options
 * @returns {number | null} exit code; null after a signal
 */
export function spawnPnpm(args, { env = process.env, stdio }) {
  const { status, error } = spawnSync("npx", ["--yes", pnpmVersion(), ...args], {
    cwd: root,
    env,
    stdio,
    shell: process.platform === "win32",
  });
  if (error) fail(`npx did not start (${error.message}): npm comes with Node, is it on PATH?`);
  return status;
}

/**
 * Installs exactly the lockfile's versions, with the pnpm that package.json pins; does nothing where that is already
 * so.
 */
export function install() {
  const pnpm = pnpmVersion();
  if (!existsSync(lockfile))
    fail("pnpm-lock.yaml is missing: restore it from git (git checkout pnpm-lock.yaml)");
  if (isInstalled()) return;

  console.error(`Installing dependencies with ${pnpm}`);
  const status = spawnPnpm(
    [
      "install",
      "--frozen-lockfile",
      "--config.confirmModulesPurge=false",
      ...(process.stderr.isTTY ? [] : ["--reporter=append-only"]),
    ],
    // Its output goes to stderr: stdout belongs to the program to be run.
    { stdio: ["ignore", 2, 2] },
  );
  if (status !== 0) {
    fail(
      `Installing failed, pnpm says why above. Without a registry in reach nothing can be installed; after a change of a package.json run: npm run pnpm -- install`,
    );
  }
  writeFileSync(stamp, fingerprint());
}
