/** Findings about CUDA: the major versions of its libraries that engines need, and those that are installed. */
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { libraryDependencies } from "../machine/elf-needed.js";
import type { Finding } from "../machine/finding.js";
import { CUDA_LIBRARIES, libraryMajors, type Majors, type Nvidia } from "../machine/nvidia.js";
import type { EngineName } from "./engine-table.js";
import type { FoundEngine } from "./find-engine.js";

const PROVIDER = "libonnxruntime_providers_cuda.so";

export function nvidiaFinding({ devices, driver, found }: Nvidia): Finding {
  const hasDevice = devices.length > 0;
  const device = hasDevice
    ? `${devices.join(", ")}; driver ${driver}`
    : "no NVIDIA device (nvidia-smi lists none)";
  const text = `${device}; libraries: ${describeMajors(found)}`;
  return { about: "CUDA", status: hasDevice ? "ok" : "note", text, facts: { devices, driver, found } };
}

const describeMajors = (majors: Majors): string =>
  CUDA_LIBRARIES.filter((library) => majors[library].length > 0)
    .map((library) => `${library} ${majors[library].join(" and ")}`)
    .join(", ") || "none found";

/** Reports the CUDA libraries that ONNX Runtime's provider depends on. Without a device the provider may be missing. */
function providerFinding({ libraries }: FoundEngine, nvidia: Nvidia): Finding | undefined {
  const [library] = libraries;
  if (library === undefined || process.platform !== "linux") return undefined;
  const about = "CUDA for ONNX Runtime";
  const file = providerIn(library.folder);
  const hasDevice = nvidia.devices.length > 0;
  if (file === undefined) {
    if (!hasDevice) return undefined;
    const text = `onnxruntime-node ${library.version} is installed without ${PROVIDER}`;
    const remedy = `copy it and libonnxruntime_providers_shared.so from the PyPI wheel onnxruntime-gpu==${library.version} beside libonnxruntime.so.1, or install again without ONNXRUNTIME_NODE_INSTALL=skip`;
    return { about, status: "missing", text, remedy, facts: { package: library } };
  }
  return needsFinding(about, libraryMajors(libraryDependencies(file) ?? []), nvidia, { file });
}

function providerIn(folder: string): string | undefined {
  const bin = join(folder, "bin");
  if (!existsSync(bin)) return undefined;
  return readdirSync(bin)
    .map((binding) => join(bin, binding, process.platform, process.arch, PROVIDER))
    .find((file) => existsSync(file));
}

/** Major versions of CUDA and cuDNN that releases of TensorFlow load when they open a device, newest first. */
const TENSORFLOW_BUILDS = [
  { since: [2, 18], cuda: 12, cudnn: 9 },
  { since: [2, 15], cuda: 12, cudnn: 8 },
  { since: [2, 5], cuda: 11, cudnn: 8 },
] as const;

/** Reports the CUDA libraries that TensorFlow needs, if there is a device. */
function tensorFlowFinding(version: string, nvidia: Nvidia): Finding | undefined {
  if (nvidia.devices.length === 0) return undefined;
  const [major = 0, minor = 0] = version.split(".").map(Number);
  const build = TENSORFLOW_BUILDS.find(({ since: [a, b] }) => major > a || (major === a && minor >= b));
  if (build === undefined) return undefined;
  const needed = { cudart: [build.cuda], cublas: [build.cuda], cudnn: [build.cudnn] };
  return needsFinding("CUDA for TensorFlow", needed, nvidia, { version });
}

function needsFinding(about: string, needed: Majors, nvidia: Nvidia, facts: object): Finding {
  const lacking = CUDA_LIBRARIES.flatMap((library) =>
    needed[library]
      .filter((major) => !nvidia.found[library].includes(major))
      .map((major) => `${library} ${major}`),
  );
  const rest = lacking.length === 0 ? ": all found" : `; not found: ${lacking.join(", ")}`;
  const text = `needs ${describeMajors(needed)}${rest}`;
  const common = { about, text, facts: { ...facts, needed, found: nvidia.found, lacking } };
  if (lacking.length === 0) return { ...common, status: "ok" };
  if (nvidia.devices.length === 0) return { ...common, status: "note" };
  const remedy = `install CUDA ${needed.cudart[0] ?? needed.cublas[0] ?? ""} and cuDNN ${needed.cudnn[0] ?? ""} where the loader finds them (LD_LIBRARY_PATH)`;
  return { ...common, status: "problem", remedy };
}

/** Functions that report what each engine needs for CUDA. `loaded` is the version that the engine's step reported. */
export const CUDA_NEEDS: Readonly<
  Record<EngineName, (found: FoundEngine, nvidia: Nvidia, loaded: string | undefined) => Finding | undefined>
> = {
  ort: providerFinding,
  tfjs: (_found, nvidia, loaded) => (loaded === undefined ? undefined : tensorFlowFinding(loaded, nvidia)),
  openvino: () => undefined,
  xla: () => undefined,
};
