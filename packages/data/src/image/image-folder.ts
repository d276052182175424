import { join } from "node:path";
import { tensor } from "@mp/core";
import * as check from "../check-arguments.js";
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
  /** Called with the files that are left out, if there are any; by default the message is printed. */
  readonly onWarning?: (warning: ImageFolderWarning) => void;
}

/** Files of an image folder that are left out. */
export interface ImageFolderWarning {
  readonly message: string;
  /** All files that are left out, by their paths in the folder. */
  readonly files: readonly string[];
}

interface Picture {
  readonly path: string;
  readonly label: number;
}

const EXTENSIONS = [".jpg", ".jpeg", ".png", ".webp"];
const TEST_FOLDERS = ["test", "val", "valid", "validation"];
const isShare = (value: unknown): boolean => typeof value === "number" && value > 0 && value < 1;
export const checkFolderOptions: check.Check = check.optionsCheck<ImageFolderOptions>(
  {
    ...imageSizeChecks,
    testShare: check.optional(check.claim("a number above 0 and below 1", isShare)),
    seed: check.optional(check.integer()),
    onWarning: check.optional(check.callback),
  },
  "{ height: 32, width: 32 }",
);

/**
 * Reads a folder per class with JPEG, PNG and WebP files. The class folders lie in `train` and `test` (or `val`), or
 * there is one set of them, directly or in `train`, of which a share is kept for the test. Classes are numbered in
 * the order of their names. Links to folders are followed; a warning names the files that are left out. All pictures
 * are held in memory at one size: cropped to its proportions unless `fit` is `fill`, which stretches them as Keras and
 * torchvision do, and upright unless `orientation` says otherwise.
 * @throws MP_IO for a folder, or a class, without pictures, MP_PARSE for a file that cannot be decoded, for a
 *   class that only the test has, and if no class has a picture to spare for the test, MP_BACKEND_UNAVAILABLE
 *   without sharp, MP_INVALID_ARGUMENT for more than 2 GiB at that size and for invalid options
 */
export async function imageFolder(directory: string, options: ImageFolderOptions): Promise<ImageSplits> {
  check.path("imageFolder: directory", directory);
  checkFolderOptions("imageFolder", options);
  const { train, test, classes } = await findSplits(directory, options);
  const read = new Set([...train, ...test].map(({ path }) => path));
  const files = (await listFiles(directory, [""], "all")).filter((file) => !read.has(join(directory, file)));
  const { onWarning = ({ message }) => console.warn(`[mp] ${message}`) } = options;
  if (files.length > 0) onWarning({ message: describeLeftOut(directory, files), files });
  return { train: await load(train, options), test: await load(test, options), classes };
}

/** Largest number of files that the message names; the warning's `files` has all. */
const NAMED = 5;

function describeLeftOut(directory: string, files: readonly string[]): string {
  const more = files.length > NAMED ? ` and ${files.length - NAMED} more` : "";
  return `imageFolder: leaves out ${files.length} ${files.length === 1 ? "file" : "files"} of ${directory}, no ${EXTENSIONS.join(", ")} in the folder of a class: ${files.slice(0, NAMED).join(", ")}${more}`;
}

interface PictureSplits extends Pick<ImageSplits, "classes"> {
  readonly train: readonly Picture[];
  readonly test: readonly Picture[];
}

async function findSplits(directory: string, options: ImageFolderOptions): Promise<PictureSplits> {
  const folders = await listFolders(directory);
  if (folders.includes("train")) {
    const classes = await listFolders(join(directory, "train"));
    const testFolder = await findTestFolder(directory, folders);
    if (testFolder === undefined) return splitFolder(join(directory, "train"), classes, options);
    const train = await picturesOfAll(join(directory, "train"), classes);
    const unknown = (await listFolders(join(directory, testFolder))).find((name) => !classes.includes(name));
    if (unknown !== undefined) {
      const remedy = `which ${join(directory, "train")} has not; name the folders alike`;
      throw fileError(join(directory, testFolder), `has the class ${unknown}, ${remedy}`);
    }
    const test = await pictures(join(directory, testFolder), classes);
    return { train, test, classes };
  }
  return splitFolder(directory, folders, options);
}

/** Finds the first test folder that has class folders; ImageNet's `test` has no labels. */
async function findTestFolder(directory: string, folders: readonly string[]): Promise<string | undefined> {
  for (const name of TEST_FOLDERS.filter((each) => folders.includes(each)))
    if ((await listFolders(join(directory, name))).length > 0) return name;
  return undefined;
}

/** Keeps a share of each class for the test, at least one picture if the class has two. */
async function splitFolder(
  directory: string,
  classes: readonly string[],
  { testShare = 0.1, seed = 0 }: ImageFolderOptions,
): Promise<PictureSplits> {
  const all = await picturesOfAll(directory, classes);
  const test = new Set<Picture>();
  for (const label of classes.keys()) {
    const own = all.filter((picture) => picture.label === label);
    const kept = Math.min(own.length - 1, Math.max(1, Math.round(testShare * own.length)));
    const order = permutation(own.length, randomStream(seed, label));
    for (const index of order.subarray(0, kept)) test.add(own[index] as Picture);
  }
  const isTest = (picture: Picture): boolean => test.has(picture);
  if (test.size > 0)
    return { train: all.filter((picture) => !isTest(picture)), test: all.filter(isTest), classes };
  throw fileError(
    directory,
    "no class has two pictures, and so none is left for the test; add some, or folders train and test",
  );
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
  throw ioError(directory, `has no folder with ${EXTENSIONS.join(", ")} files; make one for each class`);
}

async function load(list: readonly Picture[], options: ImageFolderOptions): Promise<LabeledImages> {
  const { testShare: _, seed: __, onWarning: ___, ...size } = options;
  const x = await readImageFiles(
    list.map(({ path }) => path),
    size,
  );
  return { x, y: tensor(Int32Array.from(list, ({ label }) => label)) };
}
