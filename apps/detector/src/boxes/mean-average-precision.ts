/**
 * Mean average precision as in Pascal VOC from 2010 on: the whole area under the curve of precision over recall, made
 * monotonically decreasing, at an overlap of 0.5; the mean over all classes that have a box.
 */
import type { LabeledBox } from "@mp/data";
import type { Detection } from "./detect.js";
import { intersectionOverUnion } from "./geometry.js";

const RIGHT = 0.5;

/** An image's true boxes and its detections. */
export interface JudgedImage {
  readonly truth: readonly LabeledBox[];
  readonly found: readonly Detection[];
}

/**
 * Average precision of each class, and the mean of these. A class without a box that counts is NaN and not in the
 * mean; a mean of nothing is 0.
 */
export function meanAveragePrecision(
  images: readonly JudgedImage[],
  classes: number,
): { readonly mean: number; readonly byClass: readonly number[] } {
  const byClass = Array.from({ length: classes }, (_, label) => averagePrecision(images, label));
  const counted = byClass.filter((value) => !Number.isNaN(value));
  const sum = counted.reduce((total, value) => total + value, 0);
  return { mean: counted.length === 0 ? 0 : sum / counted.length, byClass };
}

function averagePrecision(images: readonly JudgedImage[], label: number): number {
  let positives = 0;
  const judged = images.flatMap(({ truth, found }) => {
    const own = truth.filter((box) => box.label === label);
    positives += own.filter(({ isIgnored }) => !isIgnored).length;
    return judge(
      own,
      found.filter((detection) => detection.label === label),
    );
  });
  if (positives === 0) return Number.NaN;
  judged.sort((a, b) => b.score - a.score);
  let right = 0;
  const curve = judged.map(({ isRight }, index) => {
    if (isRight) right++;
    return { recall: right / positives, precision: right / (index + 1) };
  });
  let [area, highest] = [0, 0];
  for (let index = curve.length - 1; index >= 0; index--) {
    const { recall, precision } = curve[index] ?? { recall: 0, precision: 0 };
    highest = Math.max(highest, precision);
    area += (recall - (curve[index - 1]?.recall ?? 0)) * highest;
  }
  return area;
}

/**
 * In order of decreasing score, each detection takes the box that it overlaps most; a second detection of a box is
 * wrong.
 */
function judge(
  truth: readonly LabeledBox[],
  found: readonly Detection[],
): readonly { readonly score: number; readonly isRight: boolean }[] {
  const taken = new Set<LabeledBox>();
  return [...found]
    .sort((a, b) => b.score - a.score)
    .flatMap(({ box, score }) => {
      let [best, most]: [LabeledBox | undefined, number] = [undefined, 0];
      for (const target of truth) {
        const overlap = intersectionOverUnion(box, target.box);
        if (overlap > most) [best, most] = [target, overlap];
      }
      if (best === undefined || most < RIGHT) return [{ score, isRight: false }];
      if (best.isIgnored) return [];
      const isRight = !taken.has(best);
      taken.add(best);
      return [{ score, isRight }];
    });
}
