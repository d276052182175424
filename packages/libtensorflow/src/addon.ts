import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { mkdir, rename, rm } from "node:fs/promises";
import { createRequire } from "node:module";
import { basename, dirname, join } from "node:path";
import { MpError } from "@mp/graph";
import { errorCode, partialPath, runCommand } from "@mp/wheels";
import { HEADER_ROOTS } from "./headers.js";
import { type CachedLibrary, LIBRARIES } from "./library-cache.js";
import type { TfjsPackage } from "./locate-package.js";
import { ADDON_SOURCES } from "./target-package.js";

const FLAGS: readonly string[] = ["-std=c++17", "-shared", "-fPIC", "-O2", "-DNAPI_VERSION=8"];

/** The folder where the addon finds its libraries; each library has one, so that none replaces another. */
export function libraryPlace({ folder }: TfjsPackage, { key }: CachedLibrary): string {
  return join(folder, "deps", "lib", `mp-${key}`);
}

/**
 * The addon's path in the cache. The name covers everything that the addon is built from: sources, library and flags.
 * The addon depends on Node-API 8, which every Node from 15.12 on has, and not on a version of Node.
 */
export function addonPath(cache: string, target: TfjsPackage, library: CachedLibrary): string {
  const hash = createHash("sha256").update(
    JSON.stringify([FLAGS, library.key, process.arch, nodeApiVersion()]),
  );
  const sources = join(target.folder, "binding");
  for (const name of readdirSync(sources).sort())
    hash.update(`${name}\n`).update(readFileSync(join(sources, name)));
  const name = `${basename(target.name)}-${target.version}-napi8-${hash.digest("hex").slice(0, 12)}.node`;
  return join(cache, "addons", library.key, name);
}

/**
 * Compiles the addon into the cache with `g++`, or the compiler in CXX.
 * @throws MP_BACKEND_UNAVAILABLE if there is no compiler, or if it fails
 */
export async function compileAddon(options: {
  readonly target: TfjsPackage;
  readonly library: CachedLibrary;
  readonly output: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
}): Promise<void> {
  const { target, library, output, environment } = options;
  const { CXX: compiler = "g++" } = environment;
  const place = `$ORIGIN/../../deps/lib/${basename(libraryPlace(target, library))}`;
  await mkdir(dirname(output), { recursive: true });
  const partial = partialPath(dirname(output));
  const args = [
    ...FLAGS,
    `-I${nodeApiHeaders()}`,
    ...HEADER_ROOTS.map((root) => `-I${join(library.folder, "include", root)}`),
    ...ADDON_SOURCES.map((file) => join(target.folder, "binding", file)),
    `-L${join(library.folder, "lib")}`,
    ...LIBRARIES.map((file) => `-l:${file}`),
    `-Wl,-rpath,${place}`,
    ...["-o", partial],
  ];
  try {
    const { status, stderr } = await start(compiler, args, environment);
    if (status !== 0) throw compileFailure(compiler, status, stderr);
    await rename(partial, output);
  } finally {
    await rm(partial, { force: true });
  }
}

async function start(
  compiler: string,
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): ReturnType<typeof runCommand> {
  try {
    return await runCommand(compiler, args, { env });
  } catch (cause) {
    if (errorCode(cause) !== "ENOENT" && errorCode(cause) !== "EACCES") throw cause;
    throw new MpError(
      "MP_BACKEND_UNAVAILABLE",
      `no C++ compiler: "${compiler}" does not start; install one with: apt-get install g++ (or dnf install gcc-c++), or name one with the variable CXX`,
      { details: { compiler, install: "apt-get install g++" }, cause },
    );
  }
}

/** The error for a failed compilation: the compiler's first error, with the rest in the details. */
function compileFailure(compiler: string, status: number | null, stderr: string): MpError {
  const first = stderr.split("\n").find((line) => /error|undefined reference|cannot find/i.test(line));
  const problem = first?.trim() ?? `exit status ${status ?? "none, it was killed"}`;
  const message = /No space left on device/i.test(stderr)
    ? `${compiler}: the disk is full (${problem}); the compiler also needs room under TMPDIR`
    : `${compiler} did not compile the addon of tfjs-node: ${problem}; a compiler with C++17 is needed (g++ 8 or later), CXX names another`;
  return new MpError("MP_BACKEND_UNAVAILABLE", message, {
    details: { compiler, status, output: stderr.slice(-8000) },
  });
}

const require = createRequire(import.meta.url);

function nodeApiHeaders(): string {
  return join(dirname(require.resolve("node-api-headers/package.json")), "include");
}

function nodeApiVersion(): string {
  const { version } = JSON.parse(readFileSync(require.resolve("node-api-headers/package.json"), "utf8")) as {
    version: string;
  };
  return version;
}
