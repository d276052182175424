import type { Box } from "@mp/data";
import { decodeBox, intersectionOverUnion, type Offsets } from "./geometry.js";

export interface Detection {
  /** Index of the class. */
  readonly label: number;
  readonly score: number;
  readonly box: Box;
}

/** As in SSD, except for the limits on counts, which suit small images. */
const LEAST_SCORE = 0.02;
const SAME_OBJECT = 0.45;
const MOST_CANDIDATES = 100;
const MOST_DETECTIONS = 50;

/** One image's scores after softmax [anchors, 1 + classes] and offsets [anchors, 4]. */
export interface AnchorPredictions {
  readonly scores: ArrayLike<number>;
  readonly offsets: ArrayLike<number>;
}

/** The detections in an image, the highest score first; parts outside the image of this side are clipped. */
export function detect(
  { scores, offsets }: AnchorPredictions,
  anchors: readonly Box[],
  classes: number,
  side: number,
): readonly Detection[] {
  const at = (values: ArrayLike<number>, index: number): number => values[index] ?? 0;
  const detections = Array.from({ length: classes }, (_, label) => {
    const candidates = anchors
      .map((anchor, index) => ({ anchor, index, score: at(scores, index * (classes + 1) + label + 1) }))
      .filter(({ score }) => score >= LEAST_SCORE)
      .sort((a, b) => b.score - a.score)
      .slice(0, MOST_CANDIDATES)
      .map(({ anchor, index, score }): Detection => {
        const own = [0, 1, 2, 3].map((part) => at(offsets, 4 * index + part)) as unknown as Offsets;
        const box = decodeBox(own, anchor).map((edge) => Math.min(side, Math.max(0, edge)));
        return { label, score, box: box as unknown as Box };
      });
    return suppressOverlaps(candidates);
  });
  return detections
    .flat()
    .sort((a, b) => b.score - a.score)
    .slice(0, MOST_DETECTIONS);
}

/** Non-maximum suppression. Of overlapping detections, given in order of decreasing score, keeps only the first. */
export function suppressOverlaps(candidates: readonly Detection[]): readonly Detection[] {
  const kept: Detection[] = [];
  for (const candidate of candidates) {
    if (kept.every(({ box }) => intersectionOverUnion(box, candidate.box) <= SAME_OBJECT))
      kept.push(candidate);
  }
  return kept;
}
