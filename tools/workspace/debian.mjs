import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { onlyFile, PartsMissing, run } from "./parts.mjs";

/**
 * A package in the version that was tried. When a newer version replaces it in Debian's pool, the newer version is
 * taken. The name may have an architecture: `libc6:arm64`.
 * @typedef {readonly [name: string, version: string, sha256: string]} DebianPackage
 */

/**
 * Gives apt its own package lists; the system's lists are neither read nor changed.
 * @param {string} folder
 * @param {{ suites: string; architectures: readonly string[] }} from
 */
function aptEnvironment(folder, { suites, architectures }) {
  for (const part of ["state/lists/partial", "cache/archives/partial", "status.d"])
    mkdirSync(join(folder, part), { recursive: true });
  writeFileSync(join(folder, "status"), "");
  writeFileSync(
    join(folder, "debian.sources"),
    `Types: deb\nURIs: http://deb.debian.org/debian\nSuites: ${suites}\nComponents: main\nArchitectures: ${architectures.join(" ")}\nSigned-By: /usr/share/keyrings/debian-archive-keyring.gpg\n`,
  );
  const settings = {
    "Dir::State": join(folder, "state"),
    "Dir::State::status": join(folder, "status"),
    "Dir::Cache": join(folder, "cache"),
    "Dir::Etc::SourceList": join(folder, "debian.sources"),
    "Dir::Etc::SourceParts": "/dev/null",
    "APT::Architecture": architectures[0] ?? "",
    "APT::Sandbox::User": "root",
    "Acquire::Languages": "none",
    "Acquire::IndexTargets::deb::DEP-11::DefaultEnabled": "false",
  };
  const lines = Object.entries(settings).map(([key, value]) => `${key} "${value}";`);
  const all = architectures.map((name) => `"${name}";`).join(" ");
  writeFileSync(join(folder, "apt.conf"), `${lines.join("\n")}\nAPT::Architectures { ${all} };\n`);
  return { ...process.env, APT_CONFIG: join(folder, "apt.conf") };
}

/**
 * @param {DebianPackage} wanted
 * @param {string} folder an empty one
 * @param {NodeJS.ProcessEnv} env
 * @returns {string} the package's file
 */
function download([name, version, sha256], folder, env) {
  try {
    run("apt-get", ["download", "-qq", `${name}=${version}`], { cwd: folder, env });
    return onlyFile(folder, name, sha256);
  } catch (error) {
    if (!(error instanceof PartsMissing)) throw error;
    // Its sum is in the release's list, whose signature apt-get checks.
    run("apt-get", ["download", "-qq", name], { cwd: folder, env });
    const file = onlyFile(folder, name);
    console.log(`${name} ${version} has left Debian's pool; ${basename(file)} takes its place`);
    return file;
  }
}

/**
 * Unpacks packages without installing them, each into the folder that `into` says.
 * @param {readonly DebianPackage[]} packages
 * @param {{ suites: string; architectures: readonly string[] }} from suites with spaces between; the first
 *   architecture is that of packages that name none
 * @param {{ work: string; into: (name: string) => string }} folders `work` exists, and can be deleted afterwards
 * @throws PartsMissing where apt-get or dpkg-deb is missing or finds no such package
 */
export function unpackDebian(packages, from, { work, into }) {
  const env = aptEnvironment(work, from);
  run("apt-get", ["update", "-qq"], { cwd: work, env });
  for (const wanted of packages) {
    const folder = mkdtempSync(join(work, "deb-"));
    run("dpkg-deb", ["-x", download(wanted, folder, env), into(wanted[0])], { cwd: folder });
    rmSync(folder, { recursive: true });
  }
}
