import type { HostTensor } from "@mp/core";
import type { LabeledBox } from "@mp/data";

/** Square images and the boxes in each, in pixels. */
export interface SceneImages {
  /** [examples, 3, side, side] */
  readonly x: HostTensor<"u8">;
  readonly boxes: readonly (readonly LabeledBox[])[];
}

export interface SceneSplits {
  readonly train: SceneImages;
  readonly test: SceneImages;
  readonly classes: readonly string[];
}
