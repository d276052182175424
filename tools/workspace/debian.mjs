import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { onlyFile, run } from "./parts.mjs";

/**
 * A release that has left Debian's pool is no longer found: raise its version and its sum.
 * @typedef {{ name: string; version: string; sha256: string }} DebianPackage `name` may name the architecture:
 *   `libc6:arm64`
 */

/**
 * Its own package lists: those of the system are neither read nor changed.
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
 * Unpacks packages without installing them, each into the folder that `into` says.
 * @template {DebianPackage} P
 * @param {readonly P[]} packages
 * @param {{ suites: string; architectures: readonly string[] }} from suites with spaces between; the first
 *   architecture is that of packages that name none
 * @param {{ work: string; into: (wanted: P) => string }} folders `work` exists, and can be deleted afterwards
 * @throws PartsMissing where apt-get or dpkg-deb is missing or finds no such version
 */
export function unpackDebian(packages, from, { work, into }) {
  const env = aptEnvironment(work, from);
  run("apt-get", ["update", "-qq"], { cwd: work, env });
  for (const wanted of packages) {
    const { name, version, sha256 } = wanted;
    const folder = mkdtempSync(join(work, "deb-"));
    run("apt-get", ["download", "-qq", `${name}=${version}`], { cwd: folder, env });
    run("dpkg-deb", ["-x", onlyFile(folder, name, sha256), into(wanted)], { cwd: folder });
    rmSync(folder, { recursive: true });
  }
}
