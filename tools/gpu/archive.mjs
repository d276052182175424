import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { closeSync, openSync, readFileSync, readSync, rmSync, statSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { fail } from "../workspace/fail.mjs";

/** Largest size of a piece of an archive, because many ways to transfer files refuse larger files. */
const MAX_PIECE_BYTES = 60_000_000;

/**
 * Packs files of a folder, and splits an archive that is larger than a piece: NAME.tar.gz, or NAME.tar.gz.00 and on.
 * @param {string} path of the archive
 * @param {string} from
 * @param {readonly string[]} files
 * @param {readonly string[]} [options] of tar
 * @returns {readonly string[]} paths of the pieces
 */
export function writeArchive(path, from, files, options = []) {
  const list = `${path}.list`;
  writeFileSync(list, files.map((file) => `${file}\n`).join(""));
  // Keeps links as links, and leaves out this machine's owners and names.
  const whose = ["--owner=0", "--group=0", "--numeric-owner", "--sort=name"];
  run("tar", ["-C", from, "--no-recursion", ...whose, ...options, "-czf", path, "-T", list]);
  rmSync(list);
  return split(path);
}

/** @param {string} path @returns {readonly string[]} */
function split(path) {
  const { size } = statSync(path);
  if (size <= MAX_PIECE_BYTES) return [path];
  const file = openSync(path, "r");
  /** @type {string[]} */
  const pieces = [];
  for (let at = 0; at < size; at += MAX_PIECE_BYTES) {
    const bytes = Buffer.alloc(Math.min(MAX_PIECE_BYTES, size - at));
    readSync(file, bytes, 0, bytes.length, at);
    const piece = `${path}.${String(pieces.length).padStart(2, "0")}`;
    writeFileSync(piece, bytes);
    pieces.push(piece);
  }
  closeSync(file);
  rmSync(path);
  return pieces;
}

/** @param {string} path @param {"sha256" | "sha512"} algorithm */
export const hashFile = (path, algorithm) => createHash(algorithm).update(readFileSync(path)).digest();

/** Writes sums in the form that `sha256sum -c` reads. @param {string} folder @param {readonly string[]} paths */
export function writeSums(folder, paths) {
  const lines = paths.map((path) => `${hashFile(path, "sha256").toString("hex")}  ${basename(path)}\n`);
  writeFileSync(join(folder, "SHA256SUMS"), lines.join(""));
}

/** The Python whose pip fetches wheels. */
export const python = process.env["PEER_PYTHON"] ?? "python3";

/** @param {string} command @param {readonly string[]} args @param {string} [cwd] */
export function run(command, args, cwd) {
  const { status, error, stdout } = spawnSync(command, args, {
    cwd,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "inherit"],
    maxBuffer: 2 ** 26,
  });
  if (error !== undefined || status !== 0) {
    fail(`gpu pack: ${command} ${args.slice(0, 3).join(" ")} … failed${error ? `: ${error.message}` : ""}`);
  }
  return stdout;
}
