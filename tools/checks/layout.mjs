/** Checks names and sizes of files, and that every package, app and backend has the files that it needs. */
import { readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { apps, libraries, manifestAt, publicLibraries, root } from "../workspace/packages.mjs";
import { repositoryFiles } from "../workspace/repository-files.mjs";
import { withoutExports } from "./readme-exports.mjs";
import { stageProblems } from "./stages.mjs";

const MAX_SOURCE_LINES = 400;
const MAX_README_LINES = 150;
/** A folder with more files is hard to survey. Enforced where the limit was once exceeded. */
const MAX_FILES_OF_TRAINING = 12;
/** Casting and precision each have one folder in core, and files named after them are nowhere else. */
const FOLDERS_BY_NAME = {
  "packages/core/src/cast/": /^(auto)?cast(s|ing)?-|-cast(s|ing)?\.|^autocast/,
  "packages/core/src/precision/": /^(loss-scaler|master-weights|precision)/,
};
const BACKEND_FILES = ["src/index.ts", "src/manifest.ts", "src/backend.ts"];
/** The suite's file is in a folder of its own if the engine needs a browser or a library. */
const CONFORMANCE = /^test\/((browser|tensorflow|openvino|xla)\/)?conformance\.test\.ts$/;
/** Files that readers search instead of reading them whole: tests, tables with a row per operator, generated code. */
const MAY_BE_LONG = /\.(test|test-d)\.ts$|-table\.ts$|_pb\.ts$/;
const GRAB_BAG = /(^|\/)(utils?|helpers?|common|misc|manager|types)(\.[^/]*)?(\/|$)/;
const KEBAB_CASE = /^\.?[a-z0-9]+(-[a-z0-9]+)*(\.(test|test-d|config|d))*\.(ts|mjs)$/;

const files = repositoryFiles();
/** Lines of a file; of a README without its exports. @param {string} file */
const countLines = (file) =>
  withoutExports(readFileSync(join(root, file), "utf8"))
    .trimEnd()
    .split("\n").length;
/** @type {string[]} */
const problems = [...stageProblems(root, files)];
/** @param {boolean} holds @param {string} problem */
const expect = (holds, problem) => {
  if (!holds) problems.push(problem);
};

for (const file of files.filter((file) => /\.(ts|mjs)$/.test(file))) {
  expect(KEBAB_CASE.test(basename(file)) || file.endsWith("_pb.ts"), `${file}: file names are kebab-case`);
  expect(!GRAB_BAG.test(file), `${file}: name a file for its one concept, not for being a grab-bag`);
  const lines = MAY_BE_LONG.test(file) ? 0 : countLines(file);
  expect(
    lines <= MAX_SOURCE_LINES,
    `${file}: ${lines} lines, at most ${MAX_SOURCE_LINES}; split it by concept`,
  );
}

const ofCore = files.filter((file) => file.startsWith("packages/core/src/"));
for (const [folder, name] of Object.entries(FOLDERS_BY_NAME))
  for (const file of ofCore.filter((file) => name.test(basename(file))))
    expect(file.startsWith(folder), `${file}: belongs to ${folder}`);
const trainingFolders = ofCore.map((file) => dirname(file)).filter((folder) => /\/src\/train/.test(folder));
for (const folder of new Set(trainingFolders)) {
  const count = trainingFolders.filter((other) => other === folder).length;
  expect(count <= MAX_FILES_OF_TRAINING, `${folder}: ${count} files, at most ${MAX_FILES_OF_TRAINING}`);
}

for (const { path } of libraries().filter(({ folder }) => folder.startsWith("backend-"))) {
  const own = files.filter((file) => file.startsWith(`${path}/`)).map((file) => file.slice(path.length + 1));
  for (const file of BACKEND_FILES) expect(own.includes(file), `${path}: every backend has ${file}`);
  expect(
    own.some((file) => CONFORMANCE.test(file)),
    `${path}: every backend has a conformance.test.ts`,
  );
}

for (const path of ["", ...[...libraries(), ...apps()].map((member) => `${member.path}/`)]) {
  const readme = `${path}README.md`;
  const isThere = files.includes(readme);
  expect(
    isThere && countLines(readme) <= MAX_README_LINES,
    `${readme}: needed, at most ${MAX_README_LINES} lines`,
  );
}

for (const { path, manifest } of apps())
  expect(
    manifest.private === true && manifest.scripts?.["smoke"] !== undefined,
    `${path}/package.json: an app is private and has a script "smoke", which runs it at a small size`,
  );
for (const { path, manifest } of publicLibraries()) {
  const isModule = manifest.type === "module" && manifest.exports?.["./package.json"] !== undefined;
  expect(isModule, `${path}/package.json: "type" is "module", and "exports" holds ./package.json`);
  for (const field of /** @type {const} */ (["description", "license", "engines", "files", "version"]))
    expect(manifest[field] !== undefined, `${path}/package.json: "${field}" is missing`);
  for (const name of ["build", "test"])
    expect(manifest.scripts?.[name] !== undefined, `${path}/package.json: no script "${name}"`);
}

const pinned = /^\s+pnpm: (.+)$/m.exec(readFileSync(join(root, "pnpm-workspace.yaml"), "utf8"))?.[1];
expect(
  manifestAt(".").packageManager === `pnpm@${pinned}`,
  `package.json: "packageManager" and the catalog's pnpm (${pinned}) differ`,
);

for (const problem of problems) console.error(problem);
console.log(`${files.length} files, ${problems.length} problems`);
process.exitCode = problems.length > 0 ? 1 : 0;
