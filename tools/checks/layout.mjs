/** The rules of CONTRIBUTING.md that can be checked from a file listing. */
import { readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { apps, libraries, manifestAt, publicLibraries, root } from "../workspace/packages.mjs";
import { repositoryFiles } from "../workspace/repository-files.mjs";
import { stageProblems } from "./stages.mjs";

const MAX_SOURCE_LINES = 400;
const MAX_README_LINES = 150;
/** A folder with more files is hard to survey. Enforced where the limit was once exceeded. */
const MAX_FILES_OF_TRAINING = 12;
/** Casting and precision each have one folder in core, and files named after them are nowhere else. */
const ROOMS = [
  { room: "packages/core/src/cast/", name: /^(auto)?cast(s|ing)?-|-cast(s|ing)?\.|^autocast/ },
  { room: "packages/core/src/precision/", name: /^(loss-scaler|master-weights|precision)/ },
];
const BACKEND_FILES = ["src/index.ts", "src/manifest.ts", "src/backend.ts"];
/** One of them: a backend for browsers runs the suite in one. */
const CONFORMANCE = [
  "test/conformance.test.ts",
  "test/browser/conformance.test.ts",
  "test/tensorflow/conformance.test.ts",
  "test/openvino/conformance.test.ts",
];
/** Tables with one row per operator and generated code are searched, not read from top to bottom. */
const MAY_BE_LONG = [/-table\.ts$/, /_pb\.ts$/];
const GRAB_BAG = /^(utils?|helpers?|common|misc|manager|types)$/;
const KEBAB_CASE = /^\.?[a-z0-9]+(-[a-z0-9]+)*(\.(test|test-d|config|d))*\.(ts|mjs)$/;

const files = repositoryFiles();
/** @param {string} file */
const lines = (file) => readFileSync(join(root, file), "utf8").trimEnd().split("\n").length;
/** @type {string[]} */
const problems = [];

for (const file of files.filter((file) => /\.(ts|mjs)$/.test(file))) {
  if (!KEBAB_CASE.test(basename(file)) && !file.endsWith("_pb.ts"))
    problems.push(`${file}: file names are kebab-case`);
  if (file.split("/").some((part) => GRAB_BAG.test(part.replace(/\..*$/, "")))) {
    problems.push(`${file}: name a file for its one concept, not for being a grab-bag`);
  }
  const isSource = !/\.(test|test-d)\.ts$/.test(file) && !MAY_BE_LONG.some((pattern) => pattern.test(file));
  if (isSource && lines(file) > MAX_SOURCE_LINES) {
    problems.push(
      `${file}: ${lines(file)} lines, split it by concept (at most ${MAX_SOURCE_LINES}; tables end in -table.ts)`,
    );
  }
}

problems.push(...stageProblems(root, files));

/** @type {Map<string, number>} */
const trainingFolders = new Map();
for (const file of files.filter((file) => file.startsWith("packages/core/src/"))) {
  if (file.startsWith("packages/core/src/train/"))
    trainingFolders.set(dirname(file), (trainingFolders.get(dirname(file)) ?? 0) + 1);
  for (const { room, name } of ROOMS)
    if (name.test(basename(file)) && !file.startsWith(room)) problems.push(`${file}: belongs to ${room}`);
}
for (const [folder, count] of trainingFolders)
  if (count > MAX_FILES_OF_TRAINING)
    problems.push(
      `${folder}: ${count} files, at most ${MAX_FILES_OF_TRAINING}; a concern of its own gets a folder`,
    );

for (const { path } of libraries().filter(({ folder }) => folder.startsWith("backend-"))) {
  for (const file of BACKEND_FILES) {
    if (!files.includes(`${path}/${file}`)) problems.push(`${path}: every backend has ${file}`);
  }
  if (!CONFORMANCE.some((file) => files.includes(`${path}/${file}`)))
    problems.push(`${path}: every backend has ${CONFORMANCE.join(" or ")}`);
}

for (const path of ["", ...[...libraries(), ...apps()].map((member) => `${member.path}/`)]) {
  const readme = `${path}README.md`;
  if (!files.includes(readme)) problems.push(`${readme} is missing`);
  else if (lines(readme) > MAX_README_LINES)
    problems.push(`${readme}: ${lines(readme)} lines, at most ${MAX_README_LINES}`);
}

for (const { path, manifest } of apps()) {
  if (manifest.private !== true) problems.push(`${path}/package.json: apps are private`);
  if (!manifest.scripts?.["smoke"])
    problems.push(`${path}/package.json: no script "smoke", which runs the app at a small size`);
}
for (const { path, manifest } of publicLibraries()) {
  if (manifest.type !== "module") problems.push(`${path}/package.json: "type" should be "module"`);
  if (manifest.exports?.["./package.json"] === undefined)
    problems.push(`${path}/package.json: "exports" should hold ./package.json`);
  for (const field of /** @type {const} */ (["description", "license", "engines", "files", "version"])) {
    if (manifest[field] === undefined) problems.push(`${path}/package.json: "${field}" is missing`);
  }
  for (const name of ["build", "build:js", "check:types", "check:exports", "test"]) {
    if (!manifest.scripts?.[name]) problems.push(`${path}/package.json: no script "${name}"`);
  }
}

const pinned = /^\s+pnpm: (.+)$/m.exec(readFileSync(join(root, "pnpm-workspace.yaml"), "utf8"))?.[1];
if (manifestAt(".").packageManager !== `pnpm@${pinned}`) {
  problems.push(`package.json: "packageManager" and the catalog's pnpm (${pinned}) differ`);
}

for (const problem of problems) console.error(problem);
console.log(`${files.length} files, ${problems.length} problems`);
process.exitCode = problems.length > 0 ? 1 : 0;
