import type { Box } from "@mp/data";

/** A feature map over the image, and the anchors at each of its positions. */
export interface AnchorMap {
  /** Positions along each side. */
  readonly side: number;
  /** Widths and heights of the boxes around each position, in pixels. */
  readonly shapes: readonly (readonly [width: number, height: number])[];
}

/** Strides of the maps, and sides of their square anchors relative to the image's, with one side more than maps. */
const STRIDES = [4, 8, 16] as const;
const SCALES = [0.22, 0.34, 0.5, 0.75] as const;
const RATIOS = [2, 1 / 2] as const;

/**
 * The maps for square images. As in SSD, each position has a square, another between its size and the next map's, and
 * one wide and one high box with the area of the first square.
 */
export function anchorMaps(size: number): readonly AnchorMap[] {
  return STRIDES.map((stride, index) => {
    const [side = 0, next = 0] = [SCALES[index], SCALES[index + 1]].map((scale) => (scale ?? 0) * size);
    const between = Math.sqrt(side * next);
    const shapes = RATIOS.map((ratio) => [side * Math.sqrt(ratio), side / Math.sqrt(ratio)] as const);
    return { side: size / stride, shapes: [[side, side], [between, between], ...shapes] };
  });
}

/** The anchors of all maps in pixels, in the order of a head's outputs: map, row, column, shape. */
export function placeAnchors(maps: readonly AnchorMap[], size: number): readonly Box[] {
  return maps.flatMap(({ side, shapes }) => {
    const stride = size / side;
    return Array.from({ length: side * side }, (_, place) => {
      const x = ((place % side) + 0.5) * stride;
      const y = (Math.floor(place / side) + 0.5) * stride;
      return shapes.map(
        ([width, height]): Box => [x - width / 2, y - height / 2, x + width / 2, y + height / 2],
      );
    }).flat();
  });
}
