/**
 * Checks every TypeScript block of the documentation: its types with strict options, then the program of each file, run
 * against this checkout's packages. `console.log(x); // text` must print that text.
 *
 * docs/pictures/PAGE-NAME.svg must be the NAME.svg that the program of docs/PAGE.md writes, except for numbers, which
 * differ between processors. `node tools/checks/docs.mjs --pictures docs/PAGE.md` updates it.
 */
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { basename, join } from "node:path";
import { text } from "node:stream/consumers";
import { pathToFileURL } from "node:url";
import { root } from "../workspace/packages.mjs";
import { repositoryFiles } from "../workspace/repository-files.mjs";
import { buildPackages } from "../workspace/turbo.mjs";
import { linkProject } from "./linked-project.mjs";
import { extractProgram } from "./markdown-program.mjs";
import { compilerOptions, transpile } from "./program.mjs";

const LIMIT_MS = 300_000;
const DOCUMENTS = /^(README|docs\/[^/]+|(packages|apps)\/[^/]+\/[^/]+)\.md$/;
/** A file that a document imports as the reader's own. */
const READERS_FILE = "packages/conformance/test/my-backend.ts";
/** Packages that a reader installs from npm, and where this checkout has them. Their declarations are not ours to check. */
const READERS_PACKAGES = {
  fastify: "node_modules/.pnpm",
  "hyparquet-writer": "packages/data",
  "onnxruntime-node": "packages/backend-ort",
  pyodide: "packages/language-models",
  sharp: "packages/data",
  tokenizers: "apps/bert",
};
const PICTURES = "docs/pictures";
const PRINTS = /^(\s*console\.log\(.*\);) \/\/ (.*)$/;

/** Paths of the Markdown files to check; all files if empty. */
const only = new Set(process.argv.slice(2));
const isWritingPictures = only.delete("--pictures");
const files = repositoryFiles("*.md")
  .filter((file) => only.size === 0 || only.has(file))
  .filter((file) => DOCUMENTS.test(file) && !file.endsWith("CHANGELOG.md"));

if (!buildPackages()) process.exit(1);
const folder = linkProject(".docs-programs", READERS_PACKAGES);
copyFileSync(join(root, "tools/checks/printed.mjs"), join(folder, "printed.mjs"));
const readers = readFileSync(join(root, READERS_FILE), "utf8");
writeFileSync(join(folder, "my-backend.ts"), readers);
writeFileSync(join(folder, "my-backend.js"), transpile(READERS_FILE, readers));

const documents = files
  .map((file) => ({
    file,
    name: file.replace(/\.md$/, "").replaceAll("/", "-"),
    ...extractProgram(readFileSync(join(root, file), "utf8")),
  }))
  .filter(({ blocks, problems }) => blocks > 0 || problems.length > 0);
let failures = 0;
for (const { file, problems } of documents) {
  for (const problem of problems) {
    console.error(`${file}:${problem}`);
    failures++;
  }
}

const programs = documents.flatMap(({ name, checked }) =>
  checked.map((source, index) => ({ path: `${name}.${index}.ts`, source })),
);
for (const { path, source } of programs) writeFileSync(join(folder, path), source);
writeFileSync(
  join(folder, "tsconfig.json"),
  JSON.stringify({ compilerOptions, files: programs.map(({ path }) => path) }),
);
const tsc = join(root, "node_modules", "typescript", "bin", "tsc");
const compiled = spawnSync(process.execPath, [tsc, "-p", folder], { cwd: folder, encoding: "utf8" });
const isReaders = (/** @type {string} */ line) =>
  Object.keys(READERS_PACKAGES).some((name) => line.includes(`/node_modules/${name}/`));
const typeErrors = compiled.stdout.split("\n").filter((line) => line !== "" && !isReaders(line));
if (typeErrors.length > 0 || (compiled.status !== 0 && compiled.stdout === "")) {
  failures++;
  console.error(inDocuments(typeErrors.join("\n")));
}

/** Runs a document's program; its failure is printed. @param {(typeof documents)[number]} document */
async function runProgram({ file, name, run }) {
  const program = transpile(join(folder, `${name}.ts`), withExpectations(file, run));
  writeFileSync(join(folder, `${name}.js`), program);
  // Each program saves its files to a separate folder.
  const scratch = join(folder, name);
  mkdirSync(scratch);
  const start = performance.now();
  const child = spawn(process.execPath, ["--enable-source-maps", join(folder, `${name}.js`)], {
    cwd: scratch,
    stdio: ["ignore", "pipe", "pipe"],
    timeout: LIMIT_MS,
  });
  const [[status], ...printed] = await Promise.all([
    once(child, "close"),
    text(child.stdout),
    text(child.stderr),
  ]);
  const seconds = ((performance.now() - start) / 1000).toFixed(1);
  console.log(`${status === 0 ? "ok  " : "FAIL"} ${file} ${seconds} s`);
  if (status === 0) {
    for (const picture of findOutdatedPictures(basename(file, ".md"), scratch)) {
      failures++;
      console.error(`${picture} is not what ${file} writes; see tools/checks/docs.mjs`);
    }
    return;
  }
  failures++;
  if (status === null) console.error(`${file}: did not end within ${LIMIT_MS / 1000} s`);
  console.error(inDocuments(printed.join("")));
}

const waiting = [...documents];
await Promise.all(
  Array.from({ length: availableParallelism() }, async () => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) await runProgram(next);
  }),
);
console.log(`${documents.length} files`);
process.exitCode = failures > 0 ? 1 : 0;

/**
 * @param {string} page
 * @param {string} scratch where its program has written its files
 * @returns {readonly string[]}
 */
function findOutdatedPictures(page, scratch) {
  const pictures = readdirSync(join(root, PICTURES)).filter((name) => name.startsWith(`${page}-`));
  return pictures.flatMap((name) => {
    const [kept, written] = [join(root, PICTURES, name), join(scratch, name.slice(page.length + 1))];
    if (!existsSync(written)) return [`${PICTURES}/${name}`];
    if (isWritingPictures) copyFileSync(written, kept);
    const [before = "", now = ""] = [kept, written].map((path) =>
      readFileSync(path, "utf8").replaceAll(/[-\d.]+/g, "0"),
    );
    return before === now ? [] : [`${PICTURES}/${name}`];
  });
}

/**
 * @param {string} file
 * @param {string} source
 */
function withExpectations(file, source) {
  const lines = source.split("\n").map((line, index) => {
    const [, statement, text] = PRINTS.exec(line) ?? [];
    if (statement === undefined) return line;
    return `${statement} expectPrinted(${JSON.stringify(text)}, ${JSON.stringify(`${file}:${index + 1}`)});`;
  });
  return `import { expectPrinted } from "./printed.mjs"; ${lines.join("\n")}`;
}

/** Replaces positions in programs by the positions in documents that they come from. @param {string} text */
function inDocuments(text) {
  let said = text;
  for (const { file, name } of documents) {
    const program = join(folder, `${name}.ts`);
    said = said
      .replaceAll(pathToFileURL(program).href, file)
      .replaceAll(program, file)
      .replaceAll(new RegExp(`^${name}\\.\\d+\\.ts\\(`, "gm"), `${file}(`);
  }
  // Declarations that are visible everywhere are checked once for each section.
  return [...new Set(said.split("\n"))].join("\n");
}
