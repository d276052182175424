import type { Box, LabelledBox } from "@mp/data";
import { encodeBox, intersectionOverUnion } from "./geometry.js";

/** Labels of anchors: nothing there, and classes counted from 1. */
export const BACKGROUND = 0;
/** Over what counts neither for nor against: the loss passes it by. */
export const IGNORED = -1;

const MATCHED = 0.5;

/**
 * What each anchor is to say of an image: the box that it overlaps most, where that is at least a half; and each box
 * has the anchor that overlaps it most, however little. Writes labels [anchors] and offsets [anchors, 4], the latter
 * only where there is a box.
 */
export function matchAnchors(
  anchors: readonly Box[],
  boxes: readonly LabelledBox[],
  labels: Int32Array,
  offsets: Float32Array,
): void {
  const best = boxes.map(() => ({ anchor: -1, overlap: 0 }));
  const chosen = new Int32Array(anchors.length).fill(-1);
  anchors.forEach((anchor, index) => {
    let most = 0;
    boxes.forEach(({ box }, which) => {
      const overlap = intersectionOverUnion(anchor, box);
      if (overlap > (best[which]?.overlap ?? 0)) best[which] = { anchor: index, overlap };
      if (overlap < MATCHED || overlap <= most) return;
      most = overlap;
      chosen[index] = which;
    });
  });
  best.forEach(({ anchor }, which) => {
    if (anchor >= 0) chosen[anchor] = which;
  });
  chosen.forEach((which, index) => {
    const target = boxes[which];
    const anchor = anchors[index];
    if (target === undefined || anchor === undefined) {
      labels[index] = BACKGROUND;
      return;
    }
    labels[index] = target.isIgnored ? IGNORED : target.label + 1;
    if (!target.isIgnored) offsets.set(encodeBox(target.box, anchor), 4 * index);
  });
}
