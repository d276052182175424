/** Programs and libraries of other projects that tools download once into the user's cache, pinned by their sums. */
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";

/** The error where this machine or its network cannot provide the parts. */
export class PartsMissing extends Error {}

/** Whether this machine is one that parts are fetched for: Linux on x64. */
export const isLinuxX64 = process.platform === "linux" && process.arch === "x64";

/** @param {string} what is fetched @throws PartsMissing elsewhere than on Linux on x64 */
export function requireLinuxX64(what) {
  if (isLinuxX64) return;
  throw new PartsMissing(`${what} is for linux/x64, this is ${process.platform}/${process.arch}`);
}

/**
 * @param {string} command
 * @param {readonly string[]} args
 * @param {{ cwd: string; env?: NodeJS.ProcessEnv }} options
 * @returns {string} what it printed
 * @throws PartsMissing with its message where it fails
 */
export function run(command, args, { cwd, env = process.env }) {
  const { status, error, stderr, stdout } = spawnSync(command, args, { cwd, env, encoding: "utf8" });
  if (error) throw new PartsMissing(`${command} does not start (${error.message})`);
  if (status === 0) return stdout;
  const said =
    stderr.split("\n").findLast((line) => /^(E:|npm error)|error/i.test(line)) ?? `ended with ${status}`;
  throw new PartsMissing(`${command} ${args[0]}: ${said.trim()}`);
}

/**
 * @param {string} folder
 * @param {string} name the package, for messages
 * @param {string} [sha256] left out where apt-get has checked it
 * @returns {string} the one file of the folder, checked
 */
export function onlyFile(folder, name, sha256) {
  const [file] = readdirSync(folder);
  if (file === undefined) throw new PartsMissing(`${name} was not fetched`);
  if (sha256 === undefined) return join(folder, file);
  const found = createHash("sha256")
    .update(readFileSync(join(folder, file)))
    .digest("hex");
  if (found !== sha256) throw new Error(`${name}: its sha256 is ${found}, want ${sha256}`);
  return join(folder, file);
}

/** @param {string} kind a folder of the user's cache */
function cacheFolder(kind) {
  const given = process.env["XDG_CACHE_HOME"] ?? "";
  return join(given.startsWith("/") ? given : join(homedir(), ".cache"), "mp", kind);
}

/**
 * The folder that `fetch` fills the first time on a machine, completely or not at all. Other pins have another folder.
 * @param {string} kind
 * @param {unknown} pins what is fetched, with its sums
 * @param {(into: string) => void} fetch fills an empty folder
 */
export function fetchOnce(kind, pins, fetch) {
  const key = createHash("sha256").update(JSON.stringify(pins)).digest("hex").slice(0, 12);
  const cache = cacheFolder(kind);
  const folder = join(cache, key);
  if (existsSync(folder)) return folder;
  mkdirSync(cache, { recursive: true });
  const fresh = mkdtempSync(join(cache, "new-"));
  try {
    fetch(fresh);
    // Another run may have been faster.
    if (!existsSync(folder)) renameSync(fresh, folder);
  } finally {
    rmSync(fresh, { recursive: true, force: true });
  }
  return folder;
}
