import { statSync } from "node:fs";
import { join } from "node:path";
import { type HostTensor, MpError, tensor } from "@mp/core";
import { type ChannelStatistics, channelStatistics, shapeScenes } from "@mp/data";
import type { Options } from "../flags.js";
import { cocoScenes } from "./coco-scenes.js";
import type { SceneImages, SceneSplits } from "./scene-images.js";
import { vocScenes } from "./voc-scenes.js";

/** The scenes of a run, and facts about their source for the result. */
export interface Scenes extends SceneSplits {
  readonly size: number;
  /** Statistics of the training images, with which the test images are normalized as well. */
  readonly statistics: ChannelStatistics;
  readonly summary: Readonly<Record<string, unknown>>;
}

/**
 * Reads the images in `--data`, or generates pictures of shapes.
 * @throws MP_IO, MP_PARSE, MP_INVALID_ARGUMENT
 */
export async function loadScenes(options: Options): Promise<Scenes> {
  const { data, size, difficulty } = options;
  const splits = data === undefined ? generateScenes(options) : await readScenes(data, size);
  const { train, test, classes } = splits;
  const count = (images: SceneImages): number => images.boxes.reduce((sum, { length }) => sum + length, 0);
  return {
    ...splits,
    size,
    statistics: channelStatistics({ x: train.x, y: noLabels(train) }),
    summary: {
      source: data ?? `generated figures of difficulty ${difficulty}`,
      train: { images: train.boxes.length, boxes: count(train) },
      test: { images: test.boxes.length, boxes: count(test) },
      shape: [3, size, size],
      classes,
    },
  };
}

const noLabels = ({ boxes }: SceneImages): HostTensor<"i32"> => tensor(new Int32Array(boxes.length));

function generateScenes({ size, difficulty, trainImages, testImages }: Options): SceneSplits {
  const made = shapeScenes({ seed: 0, train: trainImages, test: testImages, side: size, difficulty });
  const part = ({ x, annotations }: typeof made.train): SceneImages => ({
    x,
    boxes: annotations.images.map(({ boxes }) => boxes),
  });
  return {
    train: part(made.train),
    test: part(made.test),
    classes: made.train.annotations.classes,
  };
}

function readScenes(directory: string, size: number): Promise<SceneSplits> {
  if (isFolder(join(directory, "Annotations"))) return vocScenes(directory, size);
  if (isFolder(join(directory, "annotations"))) return cocoScenes(directory, size);
  const text = `${directory}: has neither Annotations (Pascal VOC) nor annotations (COCO); VOC2007 is such a folder`;
  throw new MpError("MP_IO", text, { details: { path: directory, reason: "ENOENT" } });
}

const isFolder = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
