import { join } from "node:path";
import { type AnnotatedImage, type LabeledBox, readImageFiles } from "@mp/data";
import type { SceneImages } from "./scene-images.js";

/**
 * Images resized to squares of this side, and their boxes. Boxes refer to the pixels as the file stores them, so a
 * photograph taken with the camera rotated stays rotated, as in torchvision. @throws as `readImageFiles`
 */
export async function readSceneImages(
  directory: string,
  images: readonly AnnotatedImage[],
  side: number,
): Promise<SceneImages> {
  const paths = images.map(({ file }) => join(directory, file));
  const x = await readImageFiles(paths, { height: side, width: side, fit: "fill", orientation: "stored" });
  const boxes = images.map(({ width, height, boxes: own }) =>
    own.map((labeled): LabeledBox => {
      const [left, top, right, bottom] = labeled.box;
      const [across, down] = [side / width, side / height];
      return { ...labeled, box: [left * across, top * down, right * across, bottom * down] };
    }),
  );
  return { x, boxes };
}
