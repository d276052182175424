/** Changes brightness, contrast and saturation by torchvision's formulas, and rounds to bytes after each of the three. */
import type { RandomStream } from "../random.js";
import type { ColorOptions } from "./augment-options.js";

export type ColorFactors = Readonly<Record<keyof ColorOptions, number>>;

export function drawFactors(options: ColorOptions, { uniform }: RandomStream): ColorFactors {
  const factor = (name: keyof ColorOptions): number =>
    1 + (options[name] === undefined ? 0 : options[name] * (2 * uniform() - 1));
  return {
    brightness: factor("brightness"),
    contrast: factor("contrast"),
    saturation: factor("saturation"),
  };
}

/** Recolors an image of `area` pixels in each channel in place. */
export function recolor(pixels: Uint8ClampedArray, area: number, factors: ColorFactors): void {
  const { brightness, contrast, saturation } = factors;
  const hasColors = pixels.length === 3 * area;
  const gray = (at: number): number =>
    0.2989 * (pixels[at] as number) +
    0.587 * (pixels[at + area] as number) +
    0.114 * (pixels[at + 2 * area] as number);
  if (brightness !== 1) for (const [at, value] of pixels.entries()) pixels[at] = brightness * value;
  if (contrast !== 1) {
    let sum = 0;
    for (let at = 0; at < (hasColors ? area : pixels.length); at++)
      sum += hasColors ? gray(at) : (pixels[at] as number);
    const mean = sum / (hasColors ? area : pixels.length);
    for (const [at, value] of pixels.entries()) pixels[at] = mean + contrast * (value - mean);
  }
  if (saturation !== 1) {
    for (let at = 0; at < area; at++) {
      const own = gray(at);
      for (let place = at; place < pixels.length; place += area)
        pixels[place] = own + saturation * ((pixels[place] as number) - own);
    }
  }
}
