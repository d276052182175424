// Packs TensorFlow for a bare machine: tfjs-node in pnpm's folders, an addon compiled for the pack alone, and for a GPU
// the CUDA 12 that the wheel is built for.
import { spawnSync } from "node:child_process";
import { existsSync, lstatSync, mkdirSync, readdirSync, realpathSync, rmSync, symlinkSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { fail } from "../workspace/fail.mjs";
import { root } from "../workspace/packages.mjs";
import { turbo } from "../workspace/turbo.mjs";
import { fetchWheels, python, run, writeArchive } from "./archive.mjs";
import { productionFiles } from "./production-files.mjs";

const TFJS_NODE = "packages/backend-tfjs/node_modules/@tensorflow/tfjs-node";
/**
 * The folder through which pnpm lets every package be found, because some packages of tfjs require others without
 * naming them as dependencies.
 */
const HOISTED = "node_modules/.pnpm/node_modules";
const PACKAGE = /^node_modules\/\.pnpm\/[^/]+\/node_modules\/(@[^/]+\/[^/]+|[^@/][^/]*)(?=\/)/;
/** Files that an earlier install put under tfjs-node: the checkout's own addon and libraries. */
const INSTALLED = /\/tfjs-node\/(deps|lib)\//;
const CUDA_12 = fileURLToPath(new URL("cuda12.txt", import.meta.url));
const PLATFORMS = ["_2_28", "_2_27", "_2_17", "2014", "2010"].map((version) => `manylinux${version}_x86_64`);

/** @typedef {"cpu" | "cuda"} TensorFlowDevice */

/**
 * @param {string} folder of the pack
 * @param {string} work
 * @param {TensorFlowDevice} device
 * @returns {readonly string[]} the archive's pieces
 */
export function packTensorFlow(folder, work, device) {
  if (!existsSync(join(root, TFJS_NODE)))
    return fail(`gpu pack: ${TFJS_NODE} is missing; install the workspace with its optional dependencies`);
  if (!turbo(["build"], { filter: ["@mp/libtensorflow"], quiet: true }))
    return fail("gpu pack: @mp/libtensorflow did not build");
  const stage = join(work, "tensorflow-root");
  mkdirSync(stage);
  const files = productionFiles(root, [TFJS_NODE]).filter((file) => !INSTALLED.test(file));
  const parts = join(work, "tensorflow.tar");
  const list = [...new Set([...files, ...findHoisted(files)])].map((file) => `${file}\n`).join("");
  pipe(["tar", "-C", root, "--no-recursion", "-cf", parts, "-T", "-"], list);
  run("tar", ["-xf", parts, "-C", stage]);
  rmSync(parts);
  const real = relative(root, realpathSync(join(root, TFJS_NODE)));
  mkdirSync(dirname(join(stage, TFJS_NODE)), { recursive: true });
  symlinkSync(relative(dirname(join(root, TFJS_NODE)), join(root, real)), join(stage, TFJS_NODE));
  const command = join(root, "packages/libtensorflow/dist/mp-libtensorflow.js");
  const flags = device === "cuda" ? ["--cuda"] : [];
  run(process.execPath, [command, ...flags, "--package", join(stage, real)]);
  mkdirSync(join(stage, "tensorflow", "lib"), { recursive: true });
  if (device === "cuda") unpackCuda12(join(stage, "tensorflow", "lib"), work);
  return writeArchive(join(folder, "tensorflow.tar.gz"), stage, filesUnder(stage, stage));
}

/**
 * The hoisted links of the packages among these files, and the files that they lead to, perhaps of another version.
 * @param {readonly string[]} files
 */
function findHoisted(files) {
  const packages = files.flatMap((file) => PACKAGE.exec(file)?.[0] ?? []);
  const names = new Set(packages.map((path) => path.slice(path.lastIndexOf("/node_modules/") + 14)));
  const links = [...names].map((name) => `${HOISTED}/${name}`).filter((link) => existsSync(join(root, link)));
  return [...links, ...productionFiles(root, links)];
}

/** Unpacks the libraries of all wheels into one folder. @param {string} place @param {string} work */
function unpackCuda12(place, work) {
  const wheels = join(work, "cuda12");
  fetchWheels(wheels, [
    ...["--require-hashes", "--python-version", "3.11", "--implementation", "cp"],
    ...PLATFORMS.flatMap((platform) => ["--platform", platform]),
    ...["-r", CUDA_12],
  ]);
  for (const wheel of readdirSync(wheels)) {
    run(python, ["-c", UNPACK, join(wheels, wheel), place]);
    rmSync(join(wheels, wheel));
  }
}

const UNPACK = `
import os, shutil, sys, zipfile
with zipfile.ZipFile(sys.argv[1]) as wheel:
    for name in wheel.namelist():
        if "/lib/" in name and ".so" in name:
            with wheel.open(name) as source, open(os.path.join(sys.argv[2], os.path.basename(name)), "wb") as to:
                shutil.copyfileobj(source, to)
`;

/** @param {readonly string[]} words @param {string} input */
function pipe([command = "", ...args], input) {
  const { status } = spawnSync(command, args, { input, stdio: ["pipe", "inherit", "inherit"] });
  if (status !== 0) fail(`gpu pack: ${command} ${args.slice(0, 3).join(" ")} … failed`);
}

/** Lists files, links and empty folders. @param {string} folder @param {string} from @returns {string[]} */
function filesUnder(folder, from) {
  const names = readdirSync(folder);
  if (names.length === 0) return [relative(from, folder)];
  return names.flatMap((name) => {
    const path = join(folder, name);
    const status = lstatSync(path);
    return status.isDirectory() ? filesUnder(path, from) : [relative(from, path)];
  });
}
