/** Installs files of wheels with known digests in a folder: all of them or none, by one rename. */
import { existsSync, readdirSync, statSync } from "node:fs";
import { chmod, mkdir, rm } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { MpError } from "@mp/graph";
import { fetchWithPip } from "./fetch-with-pip.js";
import { fileFailure, type SpaceNeed } from "./file-failure.js";
import { requireDigest, sha256Of } from "./file-sum.js";
import { partialPath, publishFolder, sweepPartials, withdrawFolder } from "./publish.js";
import { megabytes, type Report, since } from "./report.js";
import { openWheel } from "./wheel-archive.js";

/** A wheel for Linux x64, and the files to take from it. */
export interface PinnedWheel {
  /** The project on the index. */
  readonly project: string;
  readonly version: string;
  /** SHA-256 of the wheel in the index. */
  readonly sha256: string;
  /** The path below the folder for a file of the wheel; undefined if the file is not taken. */
  readonly placeOf: (name: string) => string | undefined;
}

export interface PinnedRelease extends SpaceNeed {
  /** The release's name in messages, for example `MPICH 5.0.2`. */
  readonly title: string;
  readonly wheels: readonly PinnedWheel[];
  /** Advice for another platform. */
  readonly elsewhere: string;
  /** The folder to fill. */
  readonly folder: string;
  /** Path, below the folder, of a file that must be there; otherwise the folder is replaced. */
  readonly library: string;
}

export interface PinnedOptions {
  /** Path of the user's wheel, or of a folder with the wheels, used instead of the index. */
  readonly wheel?: string | undefined;
  /** Source of PATH, XDG_CACHE_HOME and the settings of pip. */
  readonly environment: Readonly<Record<string, string | undefined>>;
}

/**
 * Fills the folder from the wheels, unless it has its library already.
 * @throws MP_BACKEND_UNAVAILABLE if no wheel runs on this machine, or one cannot be fetched
 * @throws MP_INVALID_ARGUMENT, MP_PARSE or MP_IO for a problem with a wheel or the disk
 */
export async function installPinned(
  release: PinnedRelease,
  options: PinnedOptions,
  report: Report,
): Promise<void> {
  requirePlatform(release);
  const { folder, library, title } = release;
  const isInstalled = (): boolean => existsSync(join(folder, library));
  if (isInstalled()) return report("cache", `${title} is in ${folder}`);
  const cache = dirname(folder);
  try {
    await mkdir(cache, { recursive: true });
    await sweepPartials(cache);
    await publishFolder(folder, async (partial) => {
      for (const wheel of release.wheels) await addWheel(release, wheel, options, partial, report);
      // Another process may have been quicker.
      if (!isInstalled()) await withdrawFolder(folder);
    });
  } catch (error) {
    throw fileFailure(error, release);
  }
}

/** Fetches a wheel, checks its digest and unpacks the files that `placeOf` takes. */
async function addWheel(
  release: PinnedRelease,
  wheel: PinnedWheel,
  options: PinnedOptions,
  partial: string,
  report: Report,
): Promise<void> {
  const download = partialPath(dirname(release.folder));
  try {
    await mkdir(download);
    const file = await locateWheel(release, wheel, options, download, report);
    requireDigest(file, await sha256Of(file), wheel.sha256, `pinned for ${release.title}`);
    await unpack(release, wheel, file, partial, report);
  } finally {
    await rm(download, { recursive: true, force: true });
  }
}

function requirePlatform({ command, title, elsewhere }: PinnedRelease): void {
  const platform = `${process.platform}/${process.arch}`;
  if (platform === "linux/x64") return;
  throw new MpError(
    "MP_BACKEND_UNAVAILABLE",
    `${command} installs ${title} on linux/x64, this is ${platform}; ${elsewhere}`,
  );
}

async function locateWheel(
  { title, wheels, space }: PinnedRelease,
  { project, version }: PinnedWheel,
  { wheel, environment }: PinnedOptions,
  folder: string,
  report: Report,
): Promise<string> {
  if (wheel !== undefined) return givenWheel(resolve(wheel), `${project.replaceAll("-", "_")}-${version}-`);
  report("fetching", `${wheels.length === 1 ? title : `${project} ${version}`} with pip`);
  const fetched = await fetchWithPip({
    ...{ folder, environment, project, version, space },
    // Any would do: no Python of the wheel is run.
    cpython: "3.11",
    platforms: ["manylinux_2_28_x86_64", "manylinux_2_27_x86_64", "manylinux2014_x86_64"],
    otherwise: "fetch the wheel elsewhere and name it with --wheel",
  });
  return join(folder, fetched);
}

/** The file `path`, or the file in the folder `path` whose name begins with `beginning`. @throws MP_IO if neither is */
function givenWheel(path: string, beginning: string): string {
  const isFolder = statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
  const name = isFolder ? readdirSync(path).find((each) => each.startsWith(beginning)) : "";
  if (name !== undefined && existsSync(path)) return join(path, name);
  const missing = isFolder ? `${path} holds no ${beginning}*.whl` : `${path} does not exist`;
  throw new MpError("MP_IO", `--wheel: ${missing}`, { details: { file: path } });
}

/** Unpacks the files that `placeOf` takes. A wheel stores links as short texts; no needed file is reached by a link. */
async function unpack(
  { title, folder }: PinnedRelease,
  { placeOf }: PinnedWheel,
  path: string,
  partial: string,
  report: Report,
): Promise<void> {
  const start = performance.now();
  const wheel = await openWheel(path, `the wheel of ${title}`);
  let bytes = 0;
  try {
    for (const name of wheel.names) {
      const place = placeOf(name);
      if (place === undefined) continue;
      await wheel.extract(name, join(partial, place));
      bytes += wheel.sizeOf(name);
      if (/(^|\/)bin\//.test(place)) await chmod(join(partial, place), 0o755);
    }
  } finally {
    wheel.close();
  }
  report("unpacked", `${megabytes(bytes)} for ${folder}, ${since(start)}`);
}
