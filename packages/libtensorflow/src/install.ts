/**
 * Installs a current libtensorflow for tfjs-node. Everything is written next to the existing files until a separate
 * process has computed with it; then one rename of the addon switches the package over.
 */
import { existsSync } from "node:fs";
import { rm } from "node:fs/promises";
import { dirname } from "node:path";
import { MpError } from "@mp/graph";
import { fileFailure, type Report, since, sweepPartials } from "@mp/wheels";
import { addonPath, compileAddon } from "./addon.js";
import { type CachedLibrary, cacheFolder } from "./library-cache.js";
import { libraryFor, type WheelRequest } from "./library-for.js";
import { LIBRARY_COMMAND, type TfjsPackage } from "./locate-package.js";
import { placeAddon, placeLibrary, removeOtherLibraries } from "./place.js";
import { type Platform, requireGlibc, requirePlatform, thisPlatform } from "./platform.js";
import { SPACE_NEED } from "./releases.js";
import { requireSources, targetPackage } from "./target-package.js";
import { type Verified, verify } from "./verify.js";
import { parseWheelName } from "./wheel-name.js";

/** The tfjs-node to look at. */
export interface TargetOptions {
  readonly device: "cpu" | "cuda";
  /** Folder of tfjs-node. Default: the one that a program in the working directory would import. */
  readonly folder?: string | undefined;
  readonly workingDirectory: string;
  /** Source of PATH, XDG_CACHE_HOME, CXX and the settings of pip. */
  readonly environment: Readonly<Record<string, string | undefined>>;
}

export interface InstallOptions extends TargetOptions, WheelRequest {
  readonly platform?: Platform;
}

/**
 * @throws MP_BACKEND_UNAVAILABLE if something is missing on this machine, naming what installs it
 * @throws MP_INVALID_ARGUMENT, MP_PARSE or MP_IO for a problem with the wheel or the disk
 */
export async function install(options: InstallOptions, report: Report): Promise<Verified> {
  try {
    return await installInto(options, report);
  } catch (error) {
    throw fileFailure(error, SPACE_NEED);
  }
}

async function installInto(options: InstallOptions, report: Report): Promise<Verified> {
  const { platform = thisPlatform(), environment } = options;
  requirePlatform(platform);
  const target = findTarget(options, report);
  requireSources(target);
  const cache = cacheFolder(environment);
  await sweepPartials(cache);
  const library = await libraryFor(options, cache, report);
  requireGlibc(parseWheelName(library.wheel)?.platforms ?? [], platform);
  await placeLibrary(target, library, report);
  await changeOver({ target, library, cache, environment }, report);
  const verified = await computes(target, options, report);
  await removeOtherLibraries(target, library);
  return verified;
}

interface ChangeOver {
  readonly target: TfjsPackage;
  readonly library: CachedLibrary;
  readonly cache: string;
  readonly environment: TargetOptions["environment"];
}

async function changeOver(what: ChangeOver, report: Report): Promise<void> {
  const { target, library, cache, environment } = what;
  const addon = addonPath(cache, target, library);
  await sweepPartials(dirname(addon));
  const wasCached = existsSync(addon);
  if (!wasCached) await compile(what, addon, report);
  const tryAddon = async (staged: string): Promise<void> => {
    await verify(target, environment, staged);
  };
  try {
    await placeAddon(target, addon, tryAddon);
  } catch (error) {
    // A cache may come from a machine with newer system libraries. That does not apply to an addon compiled here.
    if (!wasCached || !MpError.is(error, "MP_BACKEND_UNAVAILABLE")) throw error;
    await rm(addon, { force: true });
    await compile(what, addon, report);
    await placeAddon(target, addon, tryAddon);
  }
  report("addon", `put in place, ${target.addon}`);
}

async function compile(
  { target, library, environment }: ChangeOver,
  output: string,
  report: Report,
): Promise<void> {
  const start = performance.now();
  await compileAddon({ target, library, output, environment });
  report("compiled", `the addon for Node-API 8, ${since(start)}`);
}

/**
 * Loads the installed tfjs-node and multiplies two matrices, without changing anything.
 * @throws MP_BACKEND_UNAVAILABLE if that does not work, or if no GPU is seen where one is requested
 */
export async function check(options: TargetOptions, report: Report): Promise<Verified> {
  const target = findTarget(options, report);
  if (!existsSync(target.addon)) {
    throw new MpError(
      "MP_BACKEND_UNAVAILABLE",
      `${target.name} has no addon, ${target.addon} does not exist; put it there with: ${LIBRARY_COMMAND} --package ${target.folder}`,
      { details: { file: target.addon } },
    );
  }
  const verified = await computes(target, options, report);
  if (options.device === "cuda" && verified.device === "cpu") {
    throw new MpError(
      "MP_BACKEND_UNAVAILABLE",
      `${target.name} computes on the CPU, --cuda asks for a GPU; it needs the NVIDIA driver, CUDA's libraries on LD_LIBRARY_PATH and the library that ${LIBRARY_COMMAND} --cuda installs`,
    );
  }
  return verified;
}

function findTarget(options: TargetOptions, report: Report): TfjsPackage {
  const target = targetPackage({ folder: options.folder, ...options });
  report("package", `${target.name} ${target.version} in ${target.folder}`);
  return target;
}

async function computes(
  target: TfjsPackage,
  { environment, device: asked }: TargetOptions,
  report: Report,
): Promise<Verified> {
  const start = performance.now();
  const verified = await verify(target, environment);
  const { tensorFlow, device } = verified;
  const where = asked === "cuda" && device === "cpu" ? "cpu, no GPU is seen here" : device;
  report("verified", `TensorFlow ${tensorFlow} on ${where}, a matrix product is right, ${since(start)}`);
  return verified;
}
