import { join } from "node:path";
import { tensor } from "@mp/core";
import { type Check, path as checkPath, claim, integer, optional, optionsCheck } from "../check-arguments.js";
import { fileError, ioError } from "../errors.js";
import { listFiles, listFolders } from "../list-files.js";
import { permutation, randomStream } from "../random.js";
import { type ImageSize, imageSizeChecks } from "./decode-image.js";
import type { ImageSplits, LabeledImages } from "./labeled-images.js";
import { readImageFiles } from "./read-image-files.js";

export interface ImageFolderOptions extends ImageSize {
  /** Share of each class to keep for the test if no folder has test pictures; default 0.1. */
  readonly testShare?: number;
  /** Seed that selects the test pictures; default 0. */
  readonly seed?: number;
}

interface Picture {
  readonly path: string;
  readonly label: number;
}

const EXTENSIONS = [".jpg", ".jpeg", ".png", ".webp"];
const TEST_FOLDERS = ["test", "val", "valid", "validation"];
const isShare = claim(
  "a number above 0 and below 1",
  (value) => typeof value === "number" && value > 0 && value < 1,
);
export const checkFolderOptions: Check = optionsCheck<ImageFolderOptions>(
  { ...imageSizeChecks, testShare: optional(isShare), seed: optional(integer()) },
  "{ height: 32, width: 32 }",
);

/**
 * Reads a folder per class with JPEG, PNG and WebP files. The class folders lie in `train` and `test` (or `val`), or
 * there is one set of them, directly or in `train`, of which a share is kept for the test. Classes are numbered in
 * the order of their names. Links to folders are followed. All pictures are held in memory at one size, upright
 * unless `orientation` says otherwise.
 * @throws MP_IO for a folder, or a class, without pictures, MP_PARSE naming a file that cannot be decoded,
 *   MP_BACKEND_UNAVAILABLE without sharp, MP_INVALID_ARGUMENT for more than 2 GiB at that size and for invalid
 *   options
 */
export async function imageFolder(directory: string, options: ImageFolderOptions): Promise<ImageSplits> {
  checkPath("imageFolder: directory", directory);
  checkFolderOptions("imageFolder", options);
  const folders = await listFolders(directory);
  if (folders.includes("train")) {
    const classes = await listFolders(join(directory, "train"));
    const testFolder = await findTestFolder(directory, folders);
    if (testFolder === undefined) return splitFolder(join(directory, "train"), classes, options);
    const train = await picturesOfAll(join(directory, "train"), classes);
    const unknown = (await listFolders(join(directory, testFolder))).find((name) => !classes.includes(name));
    if (unknown !== undefined) {
      throw fileError(
        join(directory, testFolder),
        `has the class ${unknown}, which ${join(directory, "train")} has not; name the folders alike`,
      );
    }
    const test = await pictures(join(directory, testFolder), classes);
    return { train: await load(train, options), test: await load(test, options), classes };
  }
  return splitFolder(directory, folders, options);
}

/** Finds the first test folder that has class folders; ImageNet's `test` has no labels. */
async function findTestFolder(directory: string, folders: readonly string[]): Promise<string | undefined> {
  for (const name of TEST_FOLDERS.filter((each) => folders.includes(each)))
    if ((await listFolders(join(directory, name))).length > 0) return name;
  return undefined;
}

async function splitFolder(
  directory: string,
  classes: readonly string[],
  options: ImageFolderOptions,
): Promise<ImageSplits> {
  const { train, test } = splitPictures(await picturesOfAll(directory, classes), options);
  if (test.length === 0) {
    throw fileError(
      directory,
      "no class has two pictures, and so none is left for the test; add some, or folders train and test",
    );
  }
  return { train: await load(train, options), test: await load(test, options), classes };
}

/** Keeps a share of each class for the test, at least one picture if the class has two. */
function splitPictures(
  all: readonly Picture[],
  options: ImageFolderOptions,
): { train: Picture[]; test: Picture[] } {
  const { testShare = 0.1, seed = 0 } = options;
  const isTest = new Set<Picture>();
  for (const label of new Set(all.map((picture) => picture.label))) {
    const own = all.filter((picture) => picture.label === label);
    const kept = Math.min(own.length - 1, Math.max(1, Math.round(testShare * own.length)));
    const order = permutation(own.length, randomStream(seed, label));
    for (const index of order.subarray(0, kept)) isTest.add(own[index] as Picture);
  }
  return {
    train: all.filter((picture) => !isTest.has(picture)),
    test: all.filter((picture) => isTest.has(picture)),
  };
}

/** Lists the pictures of all classes. Refuses a class without pictures, which would have no examples. */
async function picturesOfAll(directory: string, classes: readonly string[]): Promise<Picture[]> {
  const found = await pictures(directory, classes);
  const labels = new Set(found.map(({ label }) => label));
  const empty = classes.find((_, label) => !labels.has(label));
  if (empty === undefined) return found;
  throw ioError(
    join(directory, empty),
    `has no ${EXTENSIONS.join(", ")} file and would be a class; add some or take the folder out`,
    { reason: "ENOENT" },
  );
}

async function pictures(directory: string, classes: readonly string[]): Promise<Picture[]> {
  const found: Picture[] = [];
  const there = await listFolders(directory);
  for (const [label, name] of classes.entries()) {
    if (!there.includes(name)) continue;
    for (const file of await listFiles(join(directory, name), EXTENSIONS, "all")) {
      found.push({ path: join(directory, name, file), label });
    }
  }
  if (found.length > 0) return found;
  throw ioError(directory, `has no folder with ${EXTENSIONS.join(", ")} files; make one for each class`, {
    reason: "ENOENT",
  });
}

async function load(list: readonly Picture[], options: ImageFolderOptions): Promise<LabeledImages> {
  const { testShare: _, seed: __, ...size } = options;
  const x = await readImageFiles(
    list.map(({ path }) => path),
    size,
  );
  return { x, y: tensor(Int32Array.from(list, ({ label }) => label)) };
}
