import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { arm64Parts, KOFFI_VERSION } from "./arm64-parts.mjs";
import { root } from "./packages.mjs";
import { turbo } from "./turbo.mjs";

const backend = join(root, "packages", "backend-ort");
const OWN = ["safetensors", "graph", "core", "onnx", "onnx-lowering", "backend-ort", "conformance"];

/**
 * A project without the workspace's links, with the arm64 library of koffi.
 * @param {string} folder
 * @param {string} koffi
 */
function assemble(folder, koffi) {
  const modules = join(folder, "node_modules");
  for (const name of OWN) {
    for (const part of ["dist", "package.json"])
      cpSync(join(root, "packages", name, part), join(modules, "@mp", name, part), { recursive: true });
  }
  const foreign = { koffi: "backend-ort", "@bufbuild/protobuf": "onnx" };
  for (const [name, owner] of Object.entries(foreign)) {
    const installed = realpathSync(join(root, "packages", owner, "node_modules", name));
    cpSync(installed, join(modules, name), { recursive: true });
  }
  const { version } = JSON.parse(readFileSync(join(modules, "koffi", "package.json"), "utf8"));
  if (version !== KOFFI_VERSION)
    throw new Error(
      `koffi is ${version}: tools/workspace/arm64-parts.mjs fetches the library of ${KOFFI_VERSION}`,
    );
  mkdirSync(join(modules, "@koromix"));
  cpSync(koffi, join(modules, "@koromix", "koffi-linux-arm64"), { recursive: true });
  cpSync(join(backend, "test", "arm64.mjs"), join(folder, "arm64.mjs"));
}

/**
 * Runs backend-ort's conformance groups of sums and casts on npm's library for arm64, emulated.
 * @returns {import("./stages.mjs").Count}
 * @throws PartsMissing where it cannot be emulated
 */
export function testArm64() {
  if (!turbo(["build"], { filter: OWN.map((name) => `@mp/${name}`), quiet: true }))
    return { passed: 0, failed: 1 };
  const parts = arm64Parts();
  const folder = mkdtempSync(join(tmpdir(), "mp-arm64-"));
  try {
    assemble(folder, parts.koffi);
    const library = join(
      realpathSync(join(backend, "node_modules", "onnxruntime-node")),
      "bin/napi-v6/linux/arm64/libonnxruntime.so.1",
    );
    const [command = "", ...args] = parts.node;
    const { status, stdout } = spawnSync(command, [...args, join(folder, "arm64.mjs"), library], {
      cwd: folder,
      encoding: "utf8",
      stdio: ["ignore", "pipe", "inherit"],
    });
    process.stdout.write(stdout);
    const counts = /^(\d+) passed, (\d+) failed$/m.exec(stdout);
    const [passed, failed] = [Number(counts?.[1] ?? 0), Number(counts?.[2] ?? 0)];
    return { passed, failed: failed === 0 && status !== 0 ? 1 : failed };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
