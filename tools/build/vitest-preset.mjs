import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";

/** `imports` of package.json name built files; tests run the sources, which are the types' files. */
const { imports = {} } = /** @type {{ imports?: Record<string, { types: string }> }} */ (
  JSON.parse(readFileSync("package.json", "utf8"))
);
const sources = Object.fromEntries(
  Object.entries(imports).map(([name, { types }]) => [name, resolve(types)]),
);

const SPECIAL = ["browser", "webgpu", "mpi", "tensorflow", "openvino", "python", "compiler", "xla"];
/** @param {string} suite */
const suiteFiles = (suite) => `test/${suite}/**/*.test.ts`;

/** `MP_SHUFFLE=7 npm test` runs the files of each package in a random order, the same for the same seed. */
const seed = process.env["MP_SHUFFLE"] ?? "";
const sequence =
  seed === "" ? {} : { sequence: { shuffle: { files: true, tests: false }, seed: Number(seed) } };

/**
 * Two cores: one worker per package, since turbo already runs packages in parallel. `npm test` counts from the JSON
 * report. Type tests (`*.test-d.ts`) are compiled by the check `types`, like all code, and are not run again here.
 */
export const preset = (/** @type {Record<string, unknown>} */ test = {}) => ({
  resolve: { alias: sources },
  test: {
    // Node loads the built files of other packages as they are; Vite would transform them for each process.
    server: { deps: { external: [/\/dist\/[^/]*\.js$/] } },
    include: ["src/**/*.test.ts", "test/**/*.test.ts"],
    reporters: ["default", "json"],
    outputFile: { json: ".results/test.json" },
    // Each of these is a run of its own, in what the machine may lack.
    exclude: SPECIAL.map(suiteFiles),
    // Files that share a process leave nothing to each other.
    restoreMocks: true,
    unstubEnvs: true,
    unstubGlobals: true,
    setupFiles: [fileURLToPath(new URL("vitest-setup.mjs", import.meta.url))],
    maxWorkers: 1,
    // For tests that hang, not for slow ones: the machine may be busy with other things.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    ...sequence,
    ...test,
  },
});

/**
 * For a package of many small files: they share one process and its modules, which takes half the time of a process each.
 * @param {readonly string[]} apart files that need a process of their own, such as those that measure memory
 * @param {Readonly<Record<string, string>>} [alias] files in the place of packages
 */
export const sharedPreset = (apart, alias = {}) => {
  const { test } = preset();
  const resolving = { alias: { ...sources, ...alias } };
  const { reporters: _, outputFile: __, maxWorkers: ___, include, exclude, ...limits } = test;
  return {
    test: {
      ...test,
      projects: [
        {
          resolve: resolving,
          test: { ...limits, name: "shared", isolate: false, include, exclude: [...exclude, ...apart] },
        },
        // After the others, so that a random order leaves those in one process.
        {
          resolve: resolving,
          test: { ...limits, name: "apart", include: [...apart], sequence: { groupOrder: 1 } },
        },
      ],
    },
  };
};

/**
 * The tests in `test/<suite>`, which need what a machine may lack: `npm test -- --<suite>` runs them, but for those of
 * `compiler`, which run the compiler on the packages' declarations: `npm run check -- types`.
 * @param {string} suite one of `SPECIAL`
 * @param {Record<string, unknown>} [test]
 */
export const suitePreset = (suite, test = {}) =>
  preset({
    include: [suiteFiles(suite)],
    exclude: [],
    outputFile: { json: `.results/test-${suite}.json` },
    ...test,
  });
