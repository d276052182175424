import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";

/** The `imports` of package.json name built files. Tests run the sources instead, which their `types` name. */
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
 * One worker per package, because turbo already runs packages in parallel on two cores. `npm test` counts from the JSON
 * report. Type tests (`*.test-d.ts`) are compiled by the check `types`, like all code, and are not run again here.
 */
export const preset = (/** @type {Record<string, unknown>} */ test = {}) => ({
  resolve: { alias: sources },
  test: {
    // Node loads the built files of other packages as they are; Vite would transform them for each process.
    server: { deps: { external: [/\/dist\/[^/]*\.js$/, /app-runner\.mjs$/] } },
    include: ["src/**/*.test.ts", "test/**/*.test.ts"],
    reporters: ["default", "json"],
    outputFile: { json: ".results/test.json" },
    // Each of these suites is run on its own, and needs what the machine may lack.
    exclude: SPECIAL.map(suiteFiles),
    // Files that share a process must not affect each other.
    restoreMocks: true,
    unstubEnvs: true,
    unstubGlobals: true,
    setupFiles: [fileURLToPath(new URL("vitest-setup.mjs", import.meta.url))],
    maxWorkers: 1,
    // Time limits are for tests that hang, not for slow tests, because the machine may be busy with other things.
    testTimeout: 900_000,
    hookTimeout: 900_000,
    ...sequence,
    ...test,
  },
});

/**
 * For a package of many small test files. They share a process and its modules, which is twice as fast as a process
 * each.
 * @param {readonly string[]} apart files that need a process of their own, such as those that measure memory
 * @param {Readonly<Record<string, string>>} [alias] files in the place of packages
 * @param {ReturnType<typeof preset>} [own] what the package has instead of `preset()`
 */
export const sharedPreset = (apart, alias = {}, { test } = preset()) => {
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
        // Runs after the shared files, so that a random order keeps those in one process.
        {
          resolve: resolving,
          test: { ...limits, name: "apart", include: [...apart], sequence: { groupOrder: 1 } },
        },
      ],
    },
  };
};

/**
 * The tests in `test/<suite>`, which need what a machine may lack. `npm test -- --<suite>` runs them, except the suite
 * `compiler`: `npm run check -- types` runs it, and it runs the compiler on the packages' declarations.
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
