import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fail } from "./fail.mjs";
import { manifestAt, members, root } from "./packages.mjs";

const lockfile = join(root, "pnpm-lock.yaml");
const installedLockfile = join(root, "node_modules", ".pnpm", "lock.yaml");
const stamp = join(root, "node_modules", ".installed");

/** Fails with one line where Node is older than package.json asks for. */
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
 * What an install depends on and what it left behind. The second part notices an install made by hand
 * from another lockfile, which would leave the first part unchanged.
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

/** Installs exactly what the lockfile says, with the pnpm that package.json pins; does nothing where that is already so. */
export function install() {
  const [name, version] = (manifestAt(".").packageManager ?? "").split("@");
  if (name !== "pnpm" || !version) fail('package.json: "packageManager" should read "pnpm@<version>"');
  if (!existsSync(lockfile))
    fail("pnpm-lock.yaml is missing: restore it from git (git checkout pnpm-lock.yaml)");
  if (isInstalled()) return;

  console.error(`Installing dependencies with pnpm ${version}`);
  const { status, error } = spawnSync(
    "npx",
    [
      "--yes",
      `pnpm@${version}`,
      "install",
      "--frozen-lockfile",
      "--config.confirmModulesPurge=false",
      ...(process.stderr.isTTY ? [] : ["--reporter=append-only"]),
    ],
    // Its report goes to stderr: stdout belongs to the program that was asked for.
    { cwd: root, stdio: ["ignore", 2, 2], shell: process.platform === "win32" },
  );
  if (error) fail(`npx did not start (${error.message}): npm comes with Node, is it on PATH?`);
  if (status !== 0) {
    fail(
      `Installing failed, pnpm says why above. Without a registry in reach nothing can be installed; after a change of a package.json run: npx --yes pnpm@${version} install`,
    );
  }
  writeFileSync(stamp, fingerprint());
}
