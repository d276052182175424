import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { MpError } from "@mp/core";
import { vocBoxes } from "@mp/data";
import { readSceneImages } from "./read-scene-images.js";
import type { SceneSplits } from "./scene-images.js";

/** Every fifth image of a data set without lists is a test image. */
const FIFTH = 5;

/**
 * A Pascal VOC folder: `Annotations`, `JPEGImages`, and `ImageSets/Main` with trainval.txt and test.txt if they exist.
 */
export async function vocScenes(directory: string, side: number): Promise<SceneSplits> {
  const { images, classes } = await vocBoxes(join(directory, "Annotations"));
  const [training, testing] = await Promise.all(
    ["trainval", "test"].map((name) => readList(directory, name)),
  );
  const withoutExtension = (file: string): string => file.replace(/\.[^.]*$/, "");
  const isTest = (file: string, index: number): boolean =>
    testing === undefined ? index % FIFTH === FIFTH - 1 : testing.has(withoutExtension(file));
  const isTraining = (file: string, index: number): boolean =>
    training === undefined || testing === undefined
      ? !isTest(file, index)
      : training.has(withoutExtension(file));
  const parts = [isTraining, isTest].map((isIn) => images.filter(({ file }, index) => isIn(file, index)));
  if (parts.some(({ length }) => length === 0)) {
    const counts = parts.map(({ length }) => length).join(" and ");
    throw new MpError(
      "MP_INVALID_ARGUMENT",
      `${directory}: has ${counts} images to learn from and to be judged by, both take one or more; add images, or their names to ImageSets/Main`,
    );
  }
  const folder = join(directory, "JPEGImages");
  const [train, test] = [
    await readSceneImages(folder, parts[0] ?? [], side),
    await readSceneImages(folder, parts[1] ?? [], side),
  ];
  return { train, test, classes };
}

async function readList(directory: string, name: string): Promise<ReadonlySet<string> | undefined> {
  const text = await readFile(join(directory, "ImageSets", "Main", `${name}.txt`), "utf8").catch(
    () => undefined,
  );
  return text === undefined ? undefined : new Set(text.split(/\s+/).filter((word) => word !== ""));
}
