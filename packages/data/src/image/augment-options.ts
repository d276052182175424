import { type Check, claim, integer, optional, optionsCheck, share, truth } from "../check-arguments.js";

/** Augmentations of images, in the order in which they are made. All but `mixup` keep the class. */
export interface AugmentOptions {
  readonly seed: number;
  /** Whether to mirror each image left to right with probability ½. */
  readonly flip?: boolean;
  /** Number of zeros to pad each edge with before a random crop to the original size; 4 is usual for CIFAR. */
  readonly crop?: number;
  /** Largest angle in degrees to turn each image by about its middle, 0 … 180; black comes in from outside. */
  readonly rotate?: number;
  /** Changes of the colors, as torchvision's `ColorJitter` in this order. */
  readonly color?: ColorOptions;
  /**
   * Probability of erasing a rectangle, as torchvision's `RandomErasing`: 2 to 33 % of the image, of proportions from
   * 0.3 to 3.3, become 0 after `normalize`.
   */
  readonly erase?: number;
  /**
   * Parameter of the Beta distribution that the shares of mixup (Zhang et al., arXiv 1710.09412) are drawn from, above
   * 0 up to 2; 0.2 is usual. Batches then have `otherY` and `share`.
   */
  readonly mixup?: number;
}

/** The largest change of each property, 0 … 1. With 0.4, a factor from 0.6 to 1.4 is drawn for each image. */
export interface ColorOptions {
  /** Changes each pixel as a whole. */
  readonly brightness?: number;
  /** Changes the difference of each pixel from the image's mean gray. */
  readonly contrast?: number;
  /** Changes the difference of each channel from the pixel's gray. The images must have three channels. */
  readonly saturation?: number;
}

export const checkAugment: Check = optionsCheck<AugmentOptions>(
  {
    seed: integer(),
    flip: optional(truth),
    crop: optional(integer(0)),
    rotate: optional(
      claim("a number from 0 to 180", (value) => typeof value === "number" && value >= 0 && value <= 180),
    ),
    color: optional(
      optionsCheck<ColorOptions>(
        { brightness: optional(share), contrast: optional(share), saturation: optional(share) },
        "{ brightness: 0.2 }",
      ),
    ),
    erase: optional(share),
    mixup: optional(
      claim("a number above 0 up to 2", (value) => typeof value === "number" && value > 0 && value <= 2),
    ),
  },
  "{ seed: 1, flip: true }",
);
