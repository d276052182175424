import type { Box, LabeledBox } from "@mp/data";
import { encodeBox, intersectionOverUnion } from "./geometry.js";

/** Labels of anchors: background, and classes counted from 1. */
export const BACKGROUND = 0;
/** Label of anchors over boxes that count neither for nor against; the loss ignores such anchors. */
export const IGNORED = -1;

const MATCHED = 0.5;

/**
 * The training target of each anchor in an image: the box with which it overlaps most, where that overlap is at least
 * 0.5. In addition, each box gets the free anchor that overlaps it most, however small the overlap. Writes labels
 * [anchors] and, where there is a box, offsets [anchors, 4].
 */
export function matchAnchors(
  anchors: readonly Box[],
  boxes: readonly LabeledBox[],
  labels: Int32Array,
  offsets: Float32Array,
): void {
  const chosen = new Int32Array(anchors.length).fill(-1);
  anchors.forEach((anchor, index) => {
    let most = 0;
    boxes.forEach(({ box }, which) => {
      const overlap = intersectionOverUnion(anchor, box);
      if (overlap < MATCHED || overlap <= most) return;
      most = overlap;
      chosen[index] = which;
    });
  });
  giveEachItsBest(anchors, boxes, chosen);
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

/**
 * Assigns pairs in order of decreasing overlap; no anchor gets two boxes, and boxes that do not count take no anchor
 * from one that does.
 */
function giveEachItsBest(anchors: readonly Box[], boxes: readonly LabeledBox[], chosen: Int32Array): void {
  const waiting = new Map(
    boxes.flatMap((each, which) =>
      each.isIgnored
        ? []
        : [[which, anchors.map((anchor) => intersectionOverUnion(anchor, each.box))] as const],
    ),
  );
  const taken = new Set<number>();
  while (waiting.size > 0) {
    let best = { which: -1, anchor: -1, overlap: 0 };
    for (const [which, overlaps] of waiting) {
      overlaps.forEach((overlap, anchor) => {
        if (overlap > best.overlap && !taken.has(anchor)) best = { which, anchor, overlap };
      });
    }
    if (best.anchor < 0) return;
    chosen[best.anchor] = best.which;
    taken.add(best.anchor);
    waiting.delete(best.which);
  }
}
