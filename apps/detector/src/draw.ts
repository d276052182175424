import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Box } from "@mp/data";
import sharp from "sharp";
import type { JudgedImage } from "./boxes/mean-average-precision.js";
import type { Scenes } from "./data/scenes.js";

const IMAGES = 8;
/** Images are enlarged to about this side, so that the lines of boxes look thin. */
const SIDE = 512;
/** Detections with a lower score are left out. */
const LEAST_SCORE = 0.4;

/** Colors by class that most color-blind people can distinguish, too (Okabe and Ito). */
const COLORS = [
  { name: "orange", code: "#e69f00" },
  { name: "sky blue", code: "#56b4e9" },
  { name: "green", code: "#009e73" },
  { name: "yellow", code: "#f0e442" },
  { name: "pink", code: "#cc79a7" },
  { name: "vermilion", code: "#d55e00" },
  { name: "blue", code: "#0072b2" },
] as const;

const isSure = ({ score }: { readonly score: number }): boolean => score >= LEAST_SCORE;

/**
 * Writes the first test images as PNG, with true boxes dashed and detected ones in their class's color.
 * @returns a description of the pictures
 */
export async function drawScenes(
  directory: string,
  { test, size, classes }: Scenes,
  judged: readonly JudgedImage[],
): Promise<string> {
  if (!existsSync(directory)) mkdirSync(directory);
  const shown = judged.slice(0, IMAGES);
  const times = Math.max(1, Math.floor(SIDE / size));
  const area = size * size;
  for (const [index, { truth, found }] of shown.entries()) {
    const pixels = new Uint8Array(3 * area);
    for (let place = 0; place < area; place++) {
      for (let channel = 0; channel < 3; channel++)
        pixels[3 * place + channel] = test.x.data[(3 * index + channel) * area + place] ?? 0;
    }
    const frame = ([left, top, right, bottom]: Box, style: string): string =>
      `<rect x="${left * times}" y="${top * times}" width="${(right - left) * times}" height="${(bottom - top) * times}" fill="none" ${style}/>`;
    const frames = [
      ...truth.map(({ box }) => frame(box, 'stroke="white" stroke-width="2" stroke-dasharray="8 6"')),
      ...found
        .filter(isSure)
        .map(({ box, label }) =>
          frame(box, `stroke="${COLORS[label % COLORS.length]?.code}" stroke-width="4"`),
        ),
    ];
    const side = size * times;
    const overlay = `<svg xmlns="http://www.w3.org/2000/svg" width="${side}" height="${side}">${frames.join("")}</svg>`;
    await sharp(pixels, { raw: { width: size, height: size, channels: 3 } })
      .resize(side, side, { kernel: "nearest" })
      .composite([{ input: Buffer.from(overlay) }])
      .png()
      .toFile(join(directory, `${index}.png`));
  }
  const legend = classes.slice(0, COLORS.length).map((name, index) => `${name} ${COLORS[index]?.name}`);
  const boxes = shown.flatMap(({ found }) => found);
  const surest = boxes.reduce((most, { score }) => Math.max(most, score), 0);
  return `${shown.length} images in ${directory}: true boxes in white dashes, and ${boxes.filter(isSure).length} found with a score of ${LEAST_SCORE} or more (the highest is ${surest.toFixed(2)}), by class: ${legend.join(", ")}.`;
}
