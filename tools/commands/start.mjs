import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { fail } from "../workspace/fail.mjs";
import { entrySource, libraries, root } from "../workspace/packages.mjs";
import { isLinuxX64 } from "../workspace/parts.mjs";
import { runNode } from "../workspace/turbo.mjs";

const APP = join(root, "apps", "start");
/** What the program needs of other projects, a hundredth of what the workspace needs. */
const ALONE = join(APP, "standalone");

/** Programs of the bundle, by name. */
const PROGRAMS = {
  main: join(APP, "src", "main.ts"),
  speed: join(APP, "src", "speed", "main.ts"),
  "mp-libopenvino": join(root, "packages", "libopenvino", "src", "main.ts"),
  "mp-libxla": join(root, "packages", "libxla", "src", "main.ts"),
};

/** @param {string} path */
const textOf = (path) => (existsSync(path) ? readFileSync(path, "utf8") : "");

/**
 * Machines that multiply halves, with the engine that uses them and the arguments of the program that installs it.
 * @type {readonly { has: string; isHere: () => boolean; engine: string; install: readonly [keyof typeof PROGRAMS, ...string[]] }[]}
 */
const NATIVE = [
  {
    has: "an NVIDIA GPU, which XLA computes on: 1.3 GB the first time",
    isHere: () =>
      existsSync("/proc/driver/nvidia/gpus") && readdirSync("/proc/driver/nvidia/gpus").length > 0,
    engine: "xla",
    install: ["mp-libxla", "install", "cuda13"],
  },
  {
    has: "a processor that multiplies bfloat16, which OpenVINO uses: 59 MB the first time",
    isHere: () => /\b(avx512_bf16|amx_bf16)\b/.test(textOf("/proc/cpuinfo")),
    engine: "openvino",
    install: ["mp-libopenvino"],
  },
];

const ELSEWHERE = `This machine computed float16 exactly, but not faster: NVIDIA's GPUs gain, and processors with AMX (Intel from
Sapphire Rapids) or AVX512-BF16 (AMD from Zen 4). What a GPU would have to do for a step, in kernels and bytes, this
machine tells without one: npm run bench -- compile --target h200 w1`;

/** Trains and compares; then, where this machine multiplies halves, times that. @param {readonly string[]} args */
export async function run(args) {
  const began = performance.now();
  const seconds = () => `${Math.round((performance.now() - began) / 1000)} s`;
  installAlone();
  console.error(`Installed (${seconds()}); bundling`);
  const programs = await bundle();
  console.error(`Bundled (${seconds()}); training\n`);
  const code = runNode([programs.main, ...args], { cwd: process.cwd() });
  if (code !== 0 || args.includes("--help")) return code ?? 1;
  console.error(`Trained (${seconds()})\n`);
  const native = isLinuxX64 ? NATIVE.find(({ isHere }) => isHere()) : undefined;
  if (native === undefined) return void console.log(ELSEWHERE);
  console.error(`This machine has ${native.has}`);
  const [installer, ...given] = native.install;
  // Its output goes to stderr, apart from the results.
  if (runNode([programs[installer], ...given], { stdio: ["ignore", 2, 2] }) !== 0)
    return void console.log("Its library was not installed, see above, so there is no speed-up to show");
  return runNode([programs.speed, native.engine]) ?? 1;
}

function installAlone() {
  const lockfile = readFileSync(join(ALONE, "package-lock.json"), "utf8");
  const stamp = join(ALONE, "node_modules", ".installed");
  if (textOf(stamp) === lockfile) return;
  console.error("Installing what the program needs, apart from the workspace");
  const { status } = spawnSync(
    "npm",
    ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"],
    {
      cwd: ALONE,
      stdio: ["ignore", 2, 2],
      shell: process.platform === "win32",
    },
  );
  if (status !== 0) fail("start: nothing was installed, npm says why above; it needs a registry in reach");
  writeFileSync(stamp, lockfile);
}

/**
 * Bundles the programs from the sources of the packages, without a build of these.
 * @returns {Promise<typeof PROGRAMS>} the bundles, by name
 */
async function bundle() {
  /** @type {typeof import("esbuild")} */
  const { build } = createRequire(join(ALONE, "package.json"))("esbuild");
  const modules = join(ALONE, "node_modules");
  const outdir = join(ALONE, "dist");
  const all = libraries();
  await build({
    entryPoints: PROGRAMS,
    outdir,
    bundle: true,
    splitting: true,
    platform: "node",
    format: "esm",
    target: "node20",
    logLevel: "error",
    // They hold libraries of machine code.
    external: ["koffi", "onnxruntime-node"],
    nodePaths: [modules],
    banner: {
      js: 'import { createRequire as createRequireOfBundle } from "node:module"; const require = createRequireOfBundle(import.meta.url);',
    },
    plugins: [
      {
        name: "sources",
        setup: ({ onResolve }) => {
          onResolve({ filter: /^@mp\// }, ({ path }) => {
            const [, name, part] = /^(@mp\/[^/]+)(?:\/(.+))?$/.exec(path) ?? [];
            const library = all.find((candidate) => candidate.name === name);
            const source = library && entrySource(library, part ?? "index");
            return source === undefined ? undefined : { path: source, sideEffects: false };
          });
          onResolve({ filter: /^#/ }, ({ path, importer }) => {
            const folder = importer.slice(0, importer.lastIndexOf(`${join("/", "src")}`));
            const { imports } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
            return { path: join(folder, imports[path].types), sideEffects: false };
          });
        },
      },
    ],
  });
  return /** @type {typeof PROGRAMS} */ (
    Object.fromEntries(Object.keys(PROGRAMS).map((name) => [name, join(outdir, `${name}.js`)]))
  );
}
