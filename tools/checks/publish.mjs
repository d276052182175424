/**
 * Rehearses a release, on a copy of the last commit and with a registry on this machine: sets the next versions, packs
 * and publishes every package, installs them by name in an empty folder as the README says, and runs its program.
 */
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fail } from "../workspace/fail.mjs";
import { nextVersions } from "../workspace/next-versions.mjs";
import { members, publicLibraries, root } from "../workspace/packages.mjs";
import { startRegistry } from "../workspace/registry.mjs";
import { environment, turbo } from "../workspace/turbo.mjs";
import { installByReadme, run, runByReadme, userEnvironment } from "./user-project.mjs";

/** @typedef {import("../workspace/packages.mjs").Manifest} Manifest */

const packages = publicLibraries();
const work = mkdtempSync(join(tmpdir(), "mp-publish-"));
const copy = join(work, "copy");
const tarballs = join(work, "tarballs");
const project = join(work, "project");
for (const folder of [tarballs, project]) mkdirSync(folder);

/** @param {string} folder @returns {Manifest} */
const manifestIn = (folder) => JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));

/** @param {Manifest} manifest @param {string} name */
const isUsed = ({ dependencies, peerDependencies, devDependencies }, name) =>
  Object.hasOwn({ ...dependencies, ...peerDependencies, ...devDependencies }, name);

/**
 * @param {string} what
 * @param {string} command
 * @param {readonly string[]} args
 * @param {string} cwd
 * @param {NodeJS.ProcessEnv} [env]
 */
function must(what, command, args, cwd, env = environment) {
  const { status, stdout, stderr } = spawnSync(command, args, { cwd, env, encoding: "utf8" });
  if (status !== 0) fail(`publish: ${what} failed, left in ${work}\n${stdout}${stderr}`);
}

if (!turbo(["build"], { filter: packages.map(({ path }) => `./${path}`), quiet: true }))
  fail("publish: the packages did not build");

must("git clone", "git", ["clone", "--quiet", root, copy], work);
symlinkSync(join(root, "node_modules"), join(copy, "node_modules"), "junction");
nextVersions(copy, () => {
  must("changeset version", "changeset", ["version"], copy);
  return true;
});

/** All packages have one version; its first number rises only where a changeset asks for that. */
const versions = new Set(packages.map(({ path }) => manifestIn(join(copy, path)).version));
const [nextVersion = ""] = versions;
const changesets = readdirSync(join(root, ".changeset")).filter((file) => file.endsWith(".md"));
const asksForMajor = changesets.some((file) =>
  /^["'].+["']: major$/m.test(readFileSync(join(root, ".changeset", file), "utf8")),
);
const isMajor = packages.some(
  ({ manifest }) => manifest.version?.split(".")[0] !== nextVersion.split(".")[0],
);
if (versions.size !== 1 || isMajor !== asksForMajor)
  fail(`publish: the next versions are ${[...versions].join(", ")}`);

for (const { path, name, manifest } of packages) {
  const folder = join(copy, path);
  const next = manifestIn(folder);
  console.log(`${name} ${manifest.version} -> ${next.version}`);
  cpSync(join(root, path, "dist"), join(folder, "dist"), { recursive: true });
  // pnpm takes the version of a workspace package from its folder in node_modules.
  for (const { name: other, path: target } of members().filter((one) => isUsed(next, one.name))) {
    const link = join(folder, "node_modules", other);
    mkdirSync(dirname(link), { recursive: true });
    symlinkSync(join(copy, target), link, "junction");
  }
  if (!existsSync(join(folder, "CHANGELOG.md"))) fail(`publish: ${name} has no CHANGELOG.md`);
}
const filter = packages.flatMap(({ path }) => ["--filter", `./${path}`]);
must("pack", "pnpm", ["--silent", ...filter, "pack", "--pack-destination", tarballs], copy);

const registry = await startRegistry(work);
try {
  writeFileSync(join(project, ".npmrc"), registry.npmrc);
  /** @type {Map<string, string>} */
  const integrities = new Map();
  for (const { name, path } of packages) {
    const file = `${name.slice(1).replace("/", "-")}-${manifestIn(join(copy, path)).version}.tgz`;
    // The CI that publishes states the provenance; a rehearsal has none.
    const args = ["publish", join(tarballs, file), "--provenance=false", "--registry", registry.url];
    const hash = createHash("sha512").update(readFileSync(join(tarballs, file)));
    integrities.set(name, `sha512-${hash.digest("base64")}`);
    must(`npm publish of ${name}`, "npm", args, project, userEnvironment);
  }
  console.log(`${packages.length} packages published to ${registry.url}`);

  if (!installByReadme(project, (line) => line))
    fail(`publish: the README's commands failed, left in ${work}`);
  /** @type {{ packages: Record<string, { integrity?: string; peerDependencies?: Record<string, string> }> }} */
  const lock = JSON.parse(readFileSync(join(project, "package-lock.json"), "utf8"));
  const installed = Object.entries(lock.packages).filter(([path]) => /node_modules\/@mp\/[\w-]+$/.test(path));
  for (const [path, { integrity, peerDependencies = {} }] of installed) {
    if (integrity !== integrities.get(path.replace(/^.*node_modules\//, "")))
      fail(`publish: ${path} is not the package that was published`);
    for (const [name, range] of Object.entries(peerDependencies)) {
      // Packages share @mp/graph/internal, which may change with any release.
      const wanted = name === "@mp/graph" ? nextVersion : `^${nextVersion}`;
      if (integrities.has(name) && range !== wanted)
        fail(`publish: the peer ${name} of ${path} is ${range} and not ${wanted}`);
    }
  }
  const good =
    installed.length > 0 &&
    runByReadme(project) &&
    run("npx", ["--yes", "@mp/doctor", "--limit", "60"], { cwd: project });
  if (!good) fail(`publish: failed, left in ${work}`);
  rmSync(work, { recursive: true, force: true });
} finally {
  registry.stop();
}
