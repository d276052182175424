import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { MpError } from "@mp/graph";
import {
  INSTALL_COMMAND,
  LIBRARY_COMMAND,
  locatePackage,
  packagesFor,
  type TfjsPackage,
} from "@mp/libtensorflow";
import { expectTensorFlow } from "./expect-tensorflow.js";
import { restoreNodeUtil } from "./restore-node-util.js";
import { searchPlaces } from "./search-places.js";
import type { TfjsNode } from "./tfjs-node.js";

export interface LoadOptions {
  /** `"cuda"` prefers `@tensorflow/tfjs-node-gpu`, and fails without a GPU. Default `"cpu"`. */
  readonly device?: "cpu" | "cuda";
  /**
   * With `"cuda"`: whether float32 products and convolutions may round their factors to TF32, TensorFlow's
   * default. Default false: NVIDIA_TF32_OVERRIDE is set to 0 for the whole process, unless it is already set.
   */
  readonly tf32?: boolean;
  /**
   * Folders in which to search for the package, in order. Default: the working directory, then this package's folder.
   */
  readonly searchFrom?: readonly string[];
}

/**
 * Loads the installed tfjs-node, for programs that do not import it themselves. On newer Node versions,
 * functions that Node removed are first put back (`restoreNodeUtil`). TensorFlow's log line on stderr for
 * each session is hidden, unless the environment has TF_CPP_MIN_LOG_LEVEL, but not the few lines that
 * TensorFlow writes while it loads.
 * @example
 * ```ts
 * const backend = await tfjs({ tf: await loadTfjsNode() });
 * ```
 * @throws MP_BACKEND_UNAVAILABLE if the package, its addon, a library or the GPU is missing, naming the command that
 *   installs it
 */
export async function loadTfjsNode({
  device = "cpu",
  tf32 = false,
  searchFrom,
}: LoadOptions = {}): Promise<TfjsNode> {
  const names = packagesFor(device);
  const found = locatePackage(names, searchFrom ?? searchPlaces());
  const command = device === "cuda" ? `${LIBRARY_COMMAND} --cuda` : LIBRARY_COMMAND;
  if (found === undefined) {
    throw unavailable(
      `${names.join(" or ")} is not installed; install it with: ${INSTALL_COMMAND} && ${command}`,
      { packages: names },
    );
  }
  if (!existsSync(found.addon)) {
    throw unavailable(
      `${found.name} is installed without its native addon, ${found.addon} does not exist; put it there with: ${command} --package ${found.folder}`,
      { file: found.addon },
    );
  }
  // CUDA's libraries read this variable when they are loaded.
  if (device === "cuda" && !tf32) process.env["NVIDIA_TF32_OVERRIDE"] ??= "0";
  const tf = requirePackage(found, command);
  const { device: actual } = expectTensorFlow(tf);
  if (device === "cuda" && actual !== "cuda") {
    throw unavailable(
      `${found.name} sees no GPU, device "cuda" was asked for; it needs the NVIDIA driver, CUDA's libraries on LD_LIBRARY_PATH, and a libtensorflow built for it: ${command}`,
      { package: found.name },
    );
  }
  return tf;
}

function requirePackage(found: TfjsPackage, command: string): TfjsNode {
  restoreNodeUtil();
  // The addon reads this when it loads. 1 logs warnings and errors, 0 also a line for each session.
  process.env["TF_CPP_MIN_LOG_LEVEL"] ??= "1";
  try {
    return createRequire(join(found.folder, "package.json"))(found.folder) as TfjsNode;
  } catch (cause) {
    const said = cause instanceof Error ? (cause.message.split("\n")[0] ?? "") : String(cause);
    throw unavailable(`${found.name} does not load (${said}); repair it with: ${command}`, found, cause);
  }
}

function unavailable(problem: string, details: object, cause?: unknown): MpError {
  return new MpError("MP_BACKEND_UNAVAILABLE", `TensorFlow: ${problem}`, {
    details: { ...details, install: INSTALL_COMMAND },
    cause,
  });
}
