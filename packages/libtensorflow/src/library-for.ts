import { existsSync } from "node:fs";
import { mkdir, rm, stat } from "node:fs/promises";
import { basename, join, resolve } from "node:path";
import { MpError } from "@mp/graph";
import {
  fetchWithPip,
  megabytes,
  partialPath,
  type Report,
  requireDigest,
  sha256Of,
  since,
} from "@mp/wheels";
import { type CachedLibrary, findRelease, libraryKey, readLibrary, unpackLibrary } from "./library-cache.js";
import { PINNED_WHEELS, PLATFORMS, PYTHON, projectFor } from "./releases.js";
import { expectWheelName, parseWheelName, type WheelName } from "./wheel-name.js";

/** The requested libtensorflow. */
export interface WheelRequest {
  readonly device: "cpu" | "cuda";
  /** The release to take from the index. */
  readonly release: string;
  /** Path of the user's wheel, used instead of the index. */
  readonly wheel?: string | undefined;
  /** Folder that the wheel's path is relative to. */
  readonly workingDirectory: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
}

/**
 * Gets the requested library from the cache, or adds it there.
 * @throws MP_BACKEND_UNAVAILABLE, MP_INVALID_ARGUMENT, MP_PARSE or MP_IO for a problem with index, wheel or disk
 */
export async function libraryFor(
  request: WheelRequest,
  cache: string,
  report: Report,
): Promise<CachedLibrary> {
  return request.wheel === undefined
    ? fromIndex(request, cache, report)
    : fromFile(resolve(request.workingDirectory, request.wheel), cache, report);
}

async function fromFile(path: string, cache: string, report: Report): Promise<CachedLibrary> {
  const wheel = expectWheelName(basename(path));
  if (!existsSync(path)) {
    throw new MpError("MP_IO", `--wheel: ${path} does not exist`, { details: { file: path } });
  }
  const digest = await checkDigest(path, wheel);
  report("wheel", `${wheel.file}, ${await size(path)}, SHA-256 ${digest.slice(0, 12)}…`);
  const key = libraryKey(wheel, digest);
  return (
    reportCached(readLibrary(cache, key), report) ??
    unpack({ cache, key, wheel, path, origin: "file" }, report)
  );
}

async function fromIndex(request: WheelRequest, cache: string, report: Report): Promise<CachedLibrary> {
  const { release: version, environment } = request;
  const project = projectFor(request.device);
  const known = await findCached(cache, project, version);
  if (known !== undefined) return reportCached(known, report) ?? known;
  await mkdir(cache, { recursive: true });
  const folder = partialPath(cache);
  try {
    await mkdir(folder);
    const start = performance.now();
    report("fetching", `${project} ${version} with pip`);
    const file = await fetchWithPip({
      ...{ project, version, folder, environment },
      ...{ cpython: PYTHON, platforms: PLATFORMS, space: "1.2 GB is needed" },
      otherwise: "choose another release with --version",
    });
    const path = join(folder, file);
    const wheel = expectWheelName(file);
    const digest = await checkDigest(path, wheel);
    report(
      "wheel",
      `${file}, ${await size(path)}, SHA-256 ${digest.slice(0, 12)}…, fetched in ${since(start)}`,
    );
    return await unpack({ cache, key: libraryKey(wheel, digest), wheel, path, origin: "index" }, report);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Finds a cached library; if the wheel's digest is pinned, only one with that digest. */
async function findCached(
  cache: string,
  project: string,
  release: string,
): Promise<CachedLibrary | undefined> {
  for (const [file, digest] of Object.entries(PINNED_WHEELS)) {
    const wheel = parseWheelName(file);
    if (wheel?.name !== project.replaceAll("-", "_") || wheel.version !== release) continue;
    return readLibrary(cache, libraryKey(wheel, digest));
  }
  return findRelease(cache, project, release);
}

async function checkDigest(path: string, { file }: WheelName): Promise<string> {
  const digest = await sha256Of(path);
  const pinned = PINNED_WHEELS[file];
  if (pinned !== undefined) requireDigest(path, digest, pinned, "pinned for this release");
  return digest;
}

function reportCached(library: CachedLibrary | undefined, report: Report): CachedLibrary | undefined {
  if (library !== undefined) report("cache", `${library.key}, ${megabytes(library.sizeBytes)} of libraries`);
  return library;
}

async function unpack(options: Parameters<typeof unpackLibrary>[0], report: Report): Promise<CachedLibrary> {
  const start = performance.now();
  const library = await unpackLibrary(options);
  report("unpacked", `${megabytes(library.sizeBytes)} of libraries into ${library.folder}, ${since(start)}`);
  return library;
}

async function size(path: string): Promise<string> {
  return megabytes((await stat(path)).size);
}
