/** The package's own folders: new libraries next to the existing ones, an addon staged next to the one in use. */
import { statSync } from "node:fs";
import { copyFile, mkdir, readdir, rename, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import {
  linkOrCopy,
  megabytes,
  partialPath,
  publishFolder,
  type Report,
  since,
  sweepPartials,
  withdrawFolder,
} from "@mp/wheels";
import { libraryPlace } from "./addon.js";
import { type CachedLibrary, LIBRARIES } from "./library-cache.js";
import type { TfjsPackage } from "./locate-package.js";

/** Libraries that this command put into the package have this prefix. */
const OWN_LIBRARY = /^mp-/;

export async function placeLibrary(
  target: TfjsPackage,
  library: CachedLibrary,
  report: Report,
): Promise<void> {
  const start = performance.now();
  const place = libraryPlace(target, library);
  await sweepPartials(dirname(place));
  if (holds(place, library)) {
    report("library", `is in ${place}`);
    return;
  }
  await withdrawFolder(place);
  let how = "linked";
  await publishFolder(place, async (partial) => {
    for (const file of LIBRARIES)
      how = await linkOrCopy(join(library.folder, "lib", file), join(partial, file));
  });
  report("library", `${megabytes(library.sizeBytes)} ${how} into ${place}, ${since(start)}`);
}

function holds(place: string, { folder }: CachedLibrary): boolean {
  const size = (path: string) => statSync(path, { throwIfNoEntry: false })?.size;
  return LIBRARIES.every((file) => {
    const wanted = size(join(folder, "lib", file));
    return wanted !== undefined && size(join(place, file)) === wanted;
  });
}

/**
 * Copies an addon next to the package's own under another name, lets it be tried there, and puts it in place by a
 * rename.
 * @param tried fails when the addon does not work; then the copy is removed
 */
export async function placeAddon(
  target: TfjsPackage,
  addon: string,
  tried: (staged: string) => Promise<void>,
): Promise<void> {
  const folder = dirname(target.addon);
  await mkdir(folder, { recursive: true });
  await sweepPartials(folder);
  // Node recognizes an addon by its file extension.
  const staged = `${partialPath(folder)}.node`;
  try {
    await copyFile(addon, staged);
    await tried(staged);
    await rename(staged, target.addon);
  } finally {
    await rm(staged, { force: true });
  }
}

/** Removes what earlier runs placed; a process that has it open keeps it until the process ends. */
export async function removeOtherLibraries(target: TfjsPackage, library: CachedLibrary): Promise<void> {
  const place = libraryPlace(target, library);
  for (const name of await readdir(dirname(place))) {
    if (OWN_LIBRARY.test(name) && name !== basename(place)) await withdrawFolder(join(dirname(place), name));
  }
}
