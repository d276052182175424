import { join } from "node:path";
import { tensor } from "@mp/core";
import { type AnnotatedImage, type LabelledBox, readImage } from "@mp/data";
import type { SceneImages } from "./scenes.js";

/** Unpacked at a time; the decoder has threads of its own. */
const AT_ONCE = 8;

/** Pictures squeezed into squares of this side, and their boxes with them. @throws as `readImage` */
export async function readSceneImages(
  directory: string,
  images: readonly AnnotatedImage[],
  side: number,
): Promise<SceneImages> {
  const x = new Uint8Array(images.length * 3 * side * side);
  for (let start = 0; start < images.length; start += AT_ONCE) {
    const group = images.slice(start, start + AT_ONCE);
    const size = { height: side, width: side, fit: "fill" } as const;
    const pictures = await Promise.all(group.map(({ file }) => readImage(join(directory, file), size)));
    pictures.forEach(({ data }, index) => {
      x.set(data, (start + index) * data.length);
    });
  }
  const boxes = images.map(({ width, height, boxes: own }) =>
    own.map((labelled): LabelledBox => {
      const [left, top, right, bottom] = labelled.box;
      const [across, down] = [side / width, side / height];
      return { ...labelled, box: [left * across, top * down, right * across, bottom * down] };
    }),
  );
  return { x: tensor(x, [images.length, 3, side, side]), boxes };
}
