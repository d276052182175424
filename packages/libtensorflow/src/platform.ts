import { MpError } from "@mp/graph";
import { INSTALL_COMMAND } from "./locate-package.js";

export interface Platform {
  readonly platform: string;
  readonly arch: string;
  /** The version of glibc, such as "2.36"; undefined with musl, for which there is no TensorFlow wheel. */
  readonly glibc: string | undefined;
}

/** Remedies for unsupported platforms; on some, tfjs-node's own script downloads a library. */
const OWN_LIBRARY: Readonly<Record<string, string>> = {
  "darwin/x64":
    "npm install @tensorflow/tfjs-node brings its own library there, let its install script run (TensorFlow 2.9.1)",
  "darwin/arm64":
    "npm install @tensorflow/tfjs-node brings its own library there, for Intel and under Rosetta (an x64 Node, TensorFlow 2.9.1)",
  "win32/x64":
    "npm install @tensorflow/tfjs-node brings its own library there, let its install script run (TensorFlow 2.9.1), or use Linux under WSL 2",
  "win32/arm64": "use Linux x64, tfjs-node has no library for it",
  "linux/arm64": "tfjs-node has no library for it either; @mp/backend-ort runs there",
};

export function thisPlatform(): Platform {
  const report = process.report?.getReport() as { header?: { glibcVersionRuntime?: string } } | undefined;
  return {
    platform: process.platform,
    arch: process.arch,
    glibc: report?.header?.glibcVersionRuntime,
  };
}

/** @throws MP_BACKEND_UNAVAILABLE if no library from a wheel can run here, naming what to do instead */
export function requirePlatform({ platform, arch, glibc }: Platform): void {
  const name = `${platform}/${arch}`;
  if (name !== "linux/x64") {
    const instead = OWN_LIBRARY[name] ?? "@mp/backend-ort or the reference of @mp/core may run there";
    throw unavailable(`mp-libtensorflow supports linux/x64, this is ${name}; ${instead}`, { platform: name });
  }
  if (glibc === undefined) {
    throw unavailable(
      "TensorFlow's wheels need glibc and this system has another C library, such as Alpine's musl; use an image of Debian or Ubuntu (node:22-slim)",
      { platform: `${name}, not glibc` },
    );
  }
}

/**
 * @param tags platform tags of a wheel, such as `manylinux_2_27_x86_64`
 * @throws MP_BACKEND_UNAVAILABLE if the system's C library is older than every tag requires
 */
export function requireGlibc(tags: readonly string[], { glibc = "0.0" }: Platform): void {
  const needed = tags.map((tag) => /^manylinux_(\d+)_(\d+)_/.exec(tag)).filter((match) => match !== null);
  const [major = 0, minor = 0] = glibc.split(".").map(Number);
  const fits = ([, a, b]: RegExpExecArray) =>
    major > Number(a) || (major === Number(a) && minor >= Number(b));
  if (needed.length === 0 || needed.some(fits)) return;
  const wanted = needed.map(([, a, b]) => `${a}.${b}`).join(" or ");
  throw unavailable(
    `this TensorFlow needs glibc ${wanted}, this system has ${glibc}; use a newer system, or an older release with --version`,
    { needed: wanted, glibc },
  );
}

function unavailable(message: string, details: Readonly<Record<string, unknown>>): MpError {
  return new MpError("MP_BACKEND_UNAVAILABLE", message, {
    details: { ...details, install: INSTALL_COMMAND },
  });
}
