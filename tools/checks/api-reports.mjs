/**
 * Reports of what each entry of a public package exports, by API Extractor: `packages/<name>/api/<entry>.api.md`. A
 * change of a signature thus shows as a change of such a file, which is reviewed with the code. The package's README
 * ends in the same exports, for its readers.
 */
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, join, relative } from "node:path";
import { CompilerState, Extractor, ExtractorConfig } from "@microsoft/api-extractor";
import { publicLibraries, root } from "../workspace/packages.mjs";
import { buildPackages } from "../workspace/turbo.mjs";
import { withExports } from "./readme-exports.mjs";

/** Entries for the other packages of this repository, whose names need no docstring. */
const INTERNAL = /\/(internal|shared)\.api\.md$/;
/** Entries that a README does not list. */
const UNLISTED = /\/(internal|shared|command|worker)\.api\.md$/;
const OFF = { default: { logLevel: /** @type {any} */ ("none") } };
const COMPILER_OPTIONS = { types: ["node"], typeRoots: [join(root, "node_modules/@types")] };

/**
 * @param {import("../workspace/packages.mjs").WorkspacePackage} library
 * @param {string} built an entry's file in `dist`
 * @param {string} report the report's name
 */
function configuration({ path }, built, report) {
  return ExtractorConfig.prepare({
    configObjectFullPath: undefined,
    packageJsonFullPath: join(root, path, "package.json"),
    configObject: {
      projectFolder: join(root, path),
      mainEntryPointFilePath: join(root, path, built),
      compiler: {
        overrideTsconfig: {
          extends: join(root, "tsconfig.base.json"),
          compilerOptions: COMPILER_OPTIONS,
          files: [],
        },
      },
      apiReport: {
        enabled: true,
        reportFolder: join(root, path, "api"),
        reportTempFolder: join(root, "node_modules/.api", path),
        reportFileName: report,
      },
      docModel: {
        enabled: true,
        apiJsonFilePath: join(root, "node_modules/.api", path, report.replace(/md$/, "json")),
      },
      dtsRollup: { enabled: false },
      tsdocMetadata: { enabled: false },
      messages: {
        compilerMessageReporting: OFF,
        extractorMessageReporting: OFF,
        tsdocMessageReporting: OFF,
      },
      newlineKind: "lf",
    },
  });
}

/**
 * One configuration for each entry that programs import.
 * @param {import("../workspace/packages.mjs").WorkspacePackage} library
 */
const configurations = (library) =>
  Object.entries(library.manifest.exports ?? {}).flatMap(([entry, target]) => {
    const { types } = /** @type {{ types?: string }} */ (target);
    const report = entry === "." ? "index" : entry.slice(2).replaceAll("/", "-");
    return types === undefined ? [] : [configuration(library, types, `${report}.api.md`)];
  });

/**
 * Compares the end of a package's README with its exports, or writes it.
 * @param {import("../workspace/packages.mjs").WorkspacePackage} library
 * @param {boolean} write
 * @returns {boolean} whether they are the same now
 */
function readmeExports(library, write) {
  const file = join(root, library.path, "README.md");
  const entries = configurations(library).filter(({ reportFilePath }) => !UNLISTED.test(reportFilePath));
  const readme = readFileSync(file, "utf8");
  const listed = withExports(
    readme,
    entries.map(({ apiJsonFilePath, reportTempFilePath }) => ({
      imported: join(library.name, basename(reportTempFilePath, ".api.md")).replace(/\/index$/, ""),
      model: apiJsonFilePath,
      report: reportTempFilePath,
    })),
  );
  if (readme === listed) return true;
  if (write) writeFileSync(file, listed);
  console.log(`${library.path}/README.md: ${write ? "written" : "does not end in what it exports"}`);
  return write;
}

/** @param {string} report @returns {readonly string[]} functions, classes, values and options without a docstring */
function findUndocumented(report) {
  const documented = new Set();
  const names = new Set();
  for (const declaration of report.split("\n\n")) {
    const [, kind, name = ""] =
      /^export (?:abstract )?(class|const|function|interface) (\w+)/m.exec(declaration) ?? [];
    if (kind === "interface" && name.endsWith("Options"))
      for (const [, option] of declaration.matchAll(/\/\/ \(undocumented\)\n\s+(?:readonly )?(\w+)\?/g))
        names.add(`${name}.${option}`);
    else if (kind !== undefined && kind !== "interface")
      (declaration.startsWith("// @public (undocumented)") ? names : documented).add(name);
  }
  return [...names].filter((name) => !documented.has(name));
}

/** Compares the reports with what is built, or writes them. @param {{ write: boolean }} options @returns {boolean} success */
export function apiReports({ write }) {
  if (!buildPackages()) return false;
  const libraries = publicLibraries();
  const entries = libraries.flatMap(configurations);
  const compilerState = CompilerState.create(/** @type {ExtractorConfig} */ (entries[0]), {
    additionalEntryPoints: entries.map(({ mainEntryPointFilePath }) => mainEntryPointFilePath),
  });
  const expected = new Set(entries.map(({ reportFilePath }) => reportFilePath));
  const stale = libraries
    .map(({ path }) => join(root, path, "api"))
    .filter((folder) => existsSync(folder))
    .flatMap((folder) => readdirSync(folder).map((file) => join(folder, file)))
    .filter((file) => !expected.has(file));
  let problems = 0;
  for (const file of stale) {
    if (write) rmSync(file);
    else problems += 1;
    console.log(`${relative(root, file)}: ${write ? "deleted" : "no such entry"}`);
  }
  for (const entry of entries) {
    mkdirSync(entry.reportFolder, { recursive: true });
    const { apiReportChanged } = Extractor.invoke(entry, {
      compilerState,
      localBuild: write,
      messageCallback: (message) => {
        message.handled = true;
      },
    });
    const [reviewed, built] = [entry.reportFilePath, entry.reportTempFilePath];
    if (apiReportChanged && write) console.log(`${relative(root, reviewed)}: written`);
    if (apiReportChanged && !write) {
      problems += 1;
      console.log(`${relative(root, reviewed)}: differs from what is built`);
      const before = existsSync(reviewed) ? reviewed : "/dev/null";
      spawnSync("git", ["--no-pager", "diff", "--no-index", "-U1", before, built], { stdio: "inherit" });
    }
    if (INTERNAL.test(reviewed)) continue;
    for (const name of findUndocumented(readFileSync(built, "utf8"))) {
      problems += 1;
      console.log(`${basename(join(reviewed, "../.."))}: ${name} has no docstring`);
    }
  }
  problems += libraries.filter((library) => !readmeExports(library, write)).length;
  console.log(
    `${entries.length} entries, ${problems} problems${problems > 0 ? "; node tools/run.mjs api writes the reports" : ""}`,
  );
  return problems === 0;
}
