import { readdirSync } from "node:fs";
import { join } from "node:path";
import { MpError } from "@mp/core";
import { cocoBoxes } from "@mp/data";
import { readSceneImages } from "./read-scene-images.js";
import type { SceneSplits } from "./scene-images.js";

/** A COCO folder: `annotations/instances_train2017.json` next to `train2017`, and the same for val. */
export async function cocoScenes(directory: string, side: number): Promise<SceneSplits> {
  const files = readdirSync(join(directory, "annotations")).sort();
  const part = async (name: "train" | "val") => {
    const set = files.map((file) => /^instances_((?:train|val).*)\.json$/.exec(file)?.[1]);
    const found = set.find((each) => each?.startsWith(name) === true);
    if (found === undefined) {
      const text = `${directory}/annotations: has no instances_${name}*.json; COCO's has instances_train2017.json and instances_val2017.json`;
      throw new MpError("MP_IO", text, { details: { path: directory, reason: "ENOENT" } });
    }
    const { images, classes } = await cocoBoxes(join(directory, "annotations", `instances_${found}.json`));
    if (images.length === 0) {
      throw new MpError(
        "MP_INVALID_ARGUMENT",
        `${directory}: instances_${found}.json names no image; add one`,
      );
    }
    return { classes, images: await readSceneImages(join(directory, found), images, side) };
  };
  const [train, test] = [await part("train"), await part("val")];
  if (train.classes.join() !== test.classes.join()) {
    throw new MpError(
      "MP_INVALID_ARGUMENT",
      `${directory}: the classes of train are ${train.classes.join(", ")}, those of val ${test.classes.join(", ")}; take files of one set`,
    );
  }
  return { train: train.images, test: test.images, classes: train.classes };
}
