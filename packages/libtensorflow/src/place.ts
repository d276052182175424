/** Places libraries in the package's own folders beside the existing ones, and stages an addon. */
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

/** Prefix of the libraries that this command put into the package. */
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
 * Copies an addon next to the package's own under another name, tries it there, and puts it in place by a rename.
 * @param tried fails if the addon does not work; the copy is then removed
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

/** Removes libraries of earlier runs. A process that has one open keeps it until the process ends. */
export async function removeOtherLibraries(target: TfjsPackage, library: CachedLibrary): Promise<void> {
  const place = libraryPlace(target, library);
  for (const name of await readdir(dirname(place))) {
    if (OWN_LIBRARY.test(name) && name !== basename(place)) await withdrawFolder(join(dirname(place), name));
  }
}
