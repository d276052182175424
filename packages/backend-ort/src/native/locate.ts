import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, isAbsolute, join } from "node:path";
import { MpError } from "@mp/graph";

/**
 * The command that installs a missing library. The environment variable keeps npm from running a script that
 * downloads from a vendor's server.
 */
export const INSTALL_COMMAND: string = "ONNXRUNTIME_NODE_INSTALL=skip npm install onnxruntime-node@1.30.0";

const PACKAGE = "onnxruntime-node";

/** The library in `onnxruntime-node`, by `platform/arch`; `none` says why there is no library. */
const LIBRARY_FILES: Readonly<Record<string, { readonly file: string } | { readonly none: string }>> = {
  "linux/x64": { file: "libonnxruntime.so.1" },
  "linux/arm64": { file: "libonnxruntime.so.1" },
  "darwin/arm64": { file: "libonnxruntime.1.dylib" },
  "darwin/x64": { none: "its last release for Intel Macs was 1.23" },
  "win32/x64": { file: "onnxruntime.dll" },
  "win32/arm64": { file: "onnxruntime.dll" },
};

export interface LocateOptions {
  /** Absolute path of another ONNX Runtime library, such as the one in the `onnxruntime-gpu` wheel. */
  readonly library?: string;
  /**
   * Files or folders whose `node_modules` are searched, in order. Default: this package's folder, then the working
   * directory.
   */
  readonly searchFrom?: readonly string[];
  readonly platform?: string;
  readonly arch?: string;
}

/**
 * The absolute path of an existing ONNX Runtime library. The file is checked here. (A loader that gets no
 * path opens the running program.)
 * @throws MP_BACKEND_UNAVAILABLE naming what is missing and the command that installs it
 */
export function locateLibrary(options: LocateOptions = {}): string {
  if (options.library !== undefined) return existingLibrary(options.library);
  const platform = `${options.platform ?? process.platform}/${options.arch ?? process.arch}`;
  const shipped = LIBRARY_FILES[platform];
  if (shipped === undefined || "none" in shipped) {
    const why = shipped === undefined ? `it knows ${Object.keys(LIBRARY_FILES).join(", ")}` : shipped.none;
    throw unavailable(`${PACKAGE} ships no library for ${platform}, ${why}`, { platform });
  }
  const manifest = packageManifest(
    options.searchFrom ?? [import.meta.url, join(process.cwd(), "package.json")],
  );
  const file = join(dirname(manifest), "bin", bindingFolder(manifest), platform, shipped.file);
  if (!existsSync(file)) {
    throw unavailable(`${PACKAGE} is installed without its library, ${file} does not exist`, { file });
  }
  return file;
}

function existingLibrary(path: string): string {
  if (!isAbsolute(path)) {
    throw new MpError("MP_INVALID_ARGUMENT", `library: an absolute path is needed, got "${path}"`);
  }
  if (!existsSync(path)) {
    throw new MpError("MP_BACKEND_UNAVAILABLE", `library: ${path} does not exist`, {
      details: { file: path },
    });
  }
  return path;
}

function packageManifest(searchFrom: readonly string[]): string {
  for (const place of searchFrom) {
    try {
      return createRequire(place).resolve(`${PACKAGE}/package.json`);
    } catch {
      // Not installed there; the next folder may have it.
    }
  }
  throw unavailable(`${PACKAGE} is not installed`, { searchedFrom: searchFrom });
}

/** The folder of the package's native binding: `napi-v6` today; a new release may have another number. */
function bindingFolder(manifest: string): string {
  const parsed = JSON.parse(readFileSync(manifest, "utf8")) as { binary?: { napi_versions?: unknown[] } };
  return `napi-v${String(parsed.binary?.napi_versions?.[0] ?? 6)}`;
}

function unavailable(problem: string, details: Readonly<Record<string, unknown>>): MpError {
  return new MpError(
    "MP_BACKEND_UNAVAILABLE",
    `ONNX Runtime: ${problem}; install it with: ${INSTALL_COMMAND}`,
    { details: { ...details, package: PACKAGE, install: INSTALL_COMMAND } },
  );
}
