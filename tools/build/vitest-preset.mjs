import { existsSync, readdirSync, readFileSync } from "node:fs";
import { resolve } from "node:path";

const typeTests = ["src/**/*.test-d.ts", "test/**/*.test-d.ts"];
const hasTypeTests = ["src", "test"].some(
  (folder) =>
    existsSync(folder) &&
    readdirSync(folder, { recursive: true }).some((file) => String(file).endsWith(".test-d.ts")),
);

/** `imports` of package.json name built files; tests run the sources, which are the types' files. */
const { imports = {} } = /** @type {{ imports?: Record<string, { types: string }> }} */ (
  JSON.parse(readFileSync("package.json", "utf8"))
);
const alias = Object.fromEntries(Object.entries(imports).map(([name, { types }]) => [name, resolve(types)]));

const SPECIAL = ["browser", "webgpu", "mpi", "tensorflow", "python"];
/** @param {string} suite */
const testsOf = (suite) => `test/${suite}/**/*.test.ts`;

/**
 * Two cores: one worker per package, since turbo already runs packages in parallel. Type tests start the compiler, so
 * they are on only where there are any. `npm test` counts from the JSON report.
 */
export const preset = (/** @type {Record<string, unknown>} */ test = {}) => ({
  resolve: { alias },
  test: {
    include: ["src/**/*.test.ts", "test/**/*.test.ts"],
    typecheck: { enabled: hasTypeTests, include: typeTests },
    reporters: ["default", "json"],
    outputFile: { json: ".results/test.json" },
    // Each of these is a run of its own, in what the machine may lack.
    exclude: SPECIAL.map(testsOf),
    maxWorkers: 1,
    // For tests that hang, not for slow ones: the machine may be busy with other things.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    ...test,
  },
});

/** @param {string} suite */
const special =
  (suite) =>
  (/** @type {Record<string, unknown>} */ test = {}) =>
    preset({
      include: [testsOf(suite)],
      exclude: [],
      typecheck: { enabled: false },
      outputFile: { json: `.results/test-${suite}.json` },
      ...test,
    });

/** Tests in `test/browser`, which open one: `npm test -- --browser`. */
export const browserPreset = special("browser");

/** Tests in `test/webgpu`, which need a device of WebGPU outside a browser: `npm test -- --webgpu`. */
export const webgpuPreset = special("webgpu");

/** Tests in `test/mpi`, which start processes through `mpiexec`: `npm test -- --mpi`. */
export const mpiPreset = special("mpi");

/** Tests in `test/tensorflow`, which need TensorFlow's library: `npm test -- --tensorflow`. */
export const tensorflowPreset = special("tensorflow");

/** Tests in `test/python`, which need a Python with other projects' readers: `npm test -- --python`. */
export const pythonPreset = special("python");
