/** Installs files of a wheel with a known digest in a folder: all of them or none, by one rename. */
import { existsSync } from "node:fs";
import { chmod, mkdir, rm } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { MpError } from "@mp/graph";
import { fetchWithPip } from "./fetch-with-pip.js";
import { fileFailure, type SpaceNeed } from "./file-failure.js";
import { sha256Of } from "./file-sum.js";
import { partialPath, publishFolder, sweepPartials, withdrawFolder } from "./publish.js";
import { megabytes, type Report, since } from "./report.js";
import { openWheel, requireDigest } from "./wheel-archive.js";

/** A wheel for Linux x64, and the files to take from it. */
export interface PinnedWheel extends SpaceNeed {
  /** Name for messages: `MPICH 5.0.2`. */
  readonly title: string;
  /** The project on the index. */
  readonly project: string;
  readonly version: string;
  /** SHA-256 of the wheel in the index. */
  readonly sha256: string;
  /** Advice for another platform. */
  readonly elsewhere: string;
  /** The folder to fill. */
  readonly folder: string;
  /** Path, below the folder, of a file that must be there; otherwise the folder is replaced. */
  readonly library: string;
  /** The path below the folder for a file of the wheel; undefined if the file is not taken. */
  readonly placeOf: (name: string) => string | undefined;
}

export interface PinnedOptions {
  /** Path of the user's wheel, used instead of the index. */
  readonly wheel?: string | undefined;
  /** Source of PATH, XDG_CACHE_HOME and the settings of pip. */
  readonly environment: Readonly<Record<string, string | undefined>>;
}

/**
 * Fills the folder from the wheel, unless it has its library already.
 * @throws MP_BACKEND_UNAVAILABLE if no wheel runs on this machine, or none can be fetched
 * @throws MP_INVALID_ARGUMENT, MP_PARSE or MP_IO for a problem with the wheel or the disk
 */
export async function installPinned(
  pinned: PinnedWheel,
  options: PinnedOptions,
  report: Report,
): Promise<void> {
  requirePlatform(pinned);
  const { folder } = pinned;
  const isInstalled = (): boolean => existsSync(join(folder, pinned.library));
  if (isInstalled()) return report("cache", `${pinned.title} is in ${folder}`);
  const cache = dirname(folder);
  try {
    await mkdir(cache, { recursive: true });
    await sweepPartials(cache);
    const download = partialPath(cache);
    try {
      await mkdir(download);
      const wheel = await wheelFor(pinned, options, download, report);
      requireDigest(wheel, await sha256Of(wheel), pinned.sha256, `pinned for ${pinned.title}`);
      // Another process may have been quicker.
      if (!isInstalled()) await withdrawFolder(folder);
      await unpack(pinned, wheel, report);
    } finally {
      await rm(download, { recursive: true, force: true });
    }
  } catch (error) {
    throw fileFailure(error, pinned);
  }
}

function requirePlatform({ command, title, elsewhere }: PinnedWheel): void {
  const platform = `${process.platform}/${process.arch}`;
  if (platform === "linux/x64") return;
  throw new MpError(
    "MP_BACKEND_UNAVAILABLE",
    `${command} installs ${title} on linux/x64, this is ${platform}; ${elsewhere}`,
  );
}

async function wheelFor(
  pinned: PinnedWheel,
  { wheel, environment }: PinnedOptions,
  folder: string,
  report: Report,
): Promise<string> {
  if (wheel !== undefined) {
    if (existsSync(wheel)) return resolve(wheel);
    throw new MpError("MP_IO", `--wheel: ${resolve(wheel)} does not exist`, { details: { file: wheel } });
  }
  const { title, project, version, space } = pinned;
  report("fetching", `${title} with pip`);
  const fetched = await fetchWithPip({
    ...{ folder, environment, project, version, space },
    // Any would do: no Python of the wheel is run.
    cpython: "3.11",
    platforms: ["manylinux_2_28_x86_64"],
    otherwise: "fetch the wheel elsewhere and name it with --wheel",
  });
  return join(folder, fetched);
}

/** Unpacks the files that are taken. A wheel's links are texts of a few bytes; no file of ours goes through one. */
async function unpack({ title, folder, placeOf }: PinnedWheel, path: string, report: Report): Promise<void> {
  const start = performance.now();
  const wheel = await openWheel(path, `the wheel of ${title}`);
  let bytes = 0;
  try {
    await publishFolder(folder, async (partial) => {
      for (const name of wheel.names) {
        const place = placeOf(name);
        if (place === undefined) continue;
        await wheel.extract(name, join(partial, place));
        bytes += wheel.sizeOf(name);
        if (place.startsWith("bin/")) await chmod(join(partial, place), 0o755);
      }
    });
  } finally {
    wheel.close();
  }
  report("unpacked", `${megabytes(bytes)} into ${folder}, ${since(start)}`);
}
