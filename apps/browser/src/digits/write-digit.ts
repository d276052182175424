import { outlines } from "./outlines.js";
import type { Point, Stroke } from "./stroke.js";

/** A digit as somebody might write it: slanted, stretched, with an unsteady hand. */
export function writeDigit(digit: number, random: () => number): readonly Stroke[] {
  const between = (least: number, most: number): number => least + (most - least) * random();
  const variants = outlines[digit] ?? [];
  const outline = variants[Math.floor(random() * variants.length)] ?? [];
  const [angle, slant, width] = [between(-0.2, 0.2), between(-0.25, 0.25), between(0.75, 1.2)];
  const [cos, sin] = [Math.cos(angle), Math.sin(angle)];
  const [phase, wobble] = [between(0, 6), between(0, 0.035)];
  const move = ({ x, y }: Point, index: number): Point => {
    const [u, v] = [(x - 0.5) * width + slant * (0.5 - y), y - 0.5];
    const shift = wobble * Math.sin(phase + 1.7 * index);
    return { x: cos * u - sin * v + shift, y: sin * u + cos * v + shift };
  };
  return outline.map((stroke) => stroke.map(move));
}
