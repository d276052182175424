import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { fail } from "../workspace/fail.mjs";
import { manifestAt, root } from "../workspace/packages.mjs";
import { turbo } from "../workspace/turbo.mjs";
import { hashFile, python, run, writeArchive, writeSums } from "./archive.mjs";
import { packXla } from "./pack-xla.mjs";
import { CUDA_WHEEL, MEMBERS, NODE } from "./pinned.mjs";
import { productionFiles } from "./production-files.mjs";

/** Programs that run on the machine, besides the packages. */
const PROGRAMS = [
  "measure.mjs",
  "plan.mjs",
  "machine.mjs",
  "engine.mjs",
  "probe.mjs",
  "kept-programs.mjs",
  "conformance.mjs",
  "process.mjs",
  "result-file.mjs",
  "suite.mjs",
];

/**
 * Writes archives with everything that a bare Linux x64 machine needs, and `run.sh`, which unpacks and runs them there.
 * @param {string} folder
 * @param {import("../commands/gpu.mjs").PackOptions} options
 */
export async function packGpu(folder, { hasCuda, hasXla }) {
  const filter = [...MEMBERS, "packages/libxla"].map((member) => `./${member}...`);
  if (!turbo(["build"], { filter, quiet: true })) fail("gpu pack: the packages did not build");
  mkdirSync(folder, { recursive: true });
  const stale = readdirSync(folder).filter((file) => /\.tar\.gz(\.\d\d)?$/.test(file));
  for (const file of stale) rmSync(join(folder, file));
  const work = mkdtempSync(join(tmpdir(), "mp-gpu-"));
  try {
    const files = productionFiles(root, MEMBERS);
    const programs = PROGRAMS.map((file) => `tools/gpu/${file}`);
    const pieces = [
      ...writeArchive(join(folder, "mp.tar.gz"), root, [...files, ...programs]),
      ...packNode(folder, work),
      ...(hasCuda ? packCuda(folder, work, files) : []),
      ...(hasXla ? await packXla(folder) : []),
    ];
    copyFileSync(join(root, "tools/gpu/run.sh"), join(folder, "run.sh"));
    chmodSync(join(folder, "run.sh"), 0o755);
    writeSums(folder, pieces);
    for (const path of pieces) {
      const { size } = statSync(path);
      console.log(`${basename(path)} ${(size / 1e6).toFixed(1)} MB`);
    }
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/** @param {string} folder @param {string} work */
function packNode(folder, work) {
  run("npm", ["pack", "--silent", "--pack-destination", work, `${NODE.name}@${NODE.version}`], work);
  const tarball = join(work, `${NODE.name}-${NODE.version}.tgz`);
  const integrity = `sha512-${hashFile(tarball, "sha512").toString("base64")}`;
  if (integrity !== NODE.integrity)
    fail(`gpu pack: ${NODE.name} ${NODE.version} is ${integrity}, not the pinned one`);
  run("tar", ["-xzf", tarball, "-C", work]);
  const files = ["bin/node", "LICENSE"].filter((file) => existsSync(join(work, "package", file)));
  return writeArchive(join(folder, "node.tar.gz"), join(work, "package"), files, ["--transform=s,^,node/,"]);
}

/**
 * The CUDA libraries, to put next to npm's library.
 * @param {string} folder
 * @param {string} work
 * @param {readonly string[]} files
 */
function packCuda(folder, work, files) {
  const engine = files.find((file) => /onnxruntime-node\/bin\/.*\/libonnxruntime\.so/.test(file));
  if (engine === undefined)
    return fail("gpu pack: onnxruntime-node is installed without its library for linux/x64");
  const { version } = manifestAt(join(engine.slice(0, engine.indexOf("/bin/"))));
  if (version !== CUDA_WHEEL.version) {
    fail(
      `gpu pack: onnxruntime-node is ${version}, tools/gpu/pinned.mjs has the CUDA libraries of ${CUDA_WHEEL.version}`,
    );
  }
  const { name, file, sha256, pip, libraries } = CUDA_WHEEL;
  const download = "-m pip download --quiet --no-deps --only-binary=:all:".split(" ");
  run(python, [...download, ...pip, "-d", work, `${name}==${version}`]);
  const found = hashFile(join(work, file), "sha256").toString("hex");
  if (found !== sha256) fail(`gpu pack: ${file} is ${found}, not the pinned one`);
  run(python, ["-c", "import sys, zipfile; zipfile.ZipFile(sys.argv[1]).extractall(sys.argv[2], sys.argv[3:])",
    join(work, file), work, ...libraries]); // biome-ignore format: one program
  const place = dirname(engine);
  return writeArchive(
    join(folder, "cuda.tar.gz"),
    join(work, dirname(libraries[0] ?? "")),
    libraries.map((path) => basename(path)),
    [`--transform=s,^,${place}/,`],
  );
}
