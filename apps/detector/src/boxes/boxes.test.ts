import type { Box, LabeledBox } from "@mp/data";
import { describe, expect, it } from "vitest";
import { anchorMaps, placeAnchors } from "./anchors.js";
import { type Detection, detect, suppressOverlaps } from "./detect.js";
import { decodeBox, encodeBox, intersectionOverUnion } from "./geometry.js";
import { BACKGROUND, IGNORED, matchAnchors } from "./match.js";
import { meanAveragePrecision } from "./mean-average-precision.js";

const boxOf = (label: number, box: Box, isIgnored = false): LabeledBox => ({ label, box, isIgnored });
const detection = (label: number, score: number, box: Box): Detection => ({ label, score, box });

describe("boxes", () => {
  it("overlap by what they share of what they cover", () => {
    const box: Box = [0, 0, 4, 2];
    expect(intersectionOverUnion(box, box)).toBe(1);
    expect(intersectionOverUnion(box, [2, 0, 6, 2])).toBeCloseTo(1 / 3, 12);
    expect(intersectionOverUnion(box, [0, 0, 2, 1])).toBe(1 / 4);
    expect(intersectionOverUnion(box, [4, 0, 6, 2])).toBe(0);
  });

  it("are seen from an anchor in its sizes, and come back", () => {
    const anchor: Box = [10, 10, 30, 20];
    expect(encodeBox(anchor, anchor)).toEqual([0, 0, 0, 0]);
    const [x, y, width, height] = encodeBox([12, 10, 52, 15], anchor);
    // The center is 12 to the right of the anchor's, 2.5 above; twice as wide, half as high.
    expect([x, y]).toEqual([12 / 20 / 0.1, -2.5 / 10 / 0.1]);
    expect([width, height]).toEqual([Math.log(2) / 0.2, Math.log(1 / 2) / 0.2]);
    decodeBox([x, y, width, height], anchor).forEach((edge, index) => {
      expect(edge).toBeCloseTo([12, 10, 52, 15][index] ?? 0, 10);
    });
  });
});

describe("anchors", () => {
  it("stand around every place of every map, in the heads' order", () => {
    const maps = anchorMaps(64);
    const anchors = placeAnchors(maps, 64);
    expect(maps.map(({ side }) => side)).toEqual([16, 8, 4]);
    expect(anchors).toHaveLength(4 * (16 ** 2 + 8 ** 2 + 4 ** 2));
    const center = ([left, top, right, bottom]: Box) => [(left + right) / 2, (top + bottom) / 2];
    const at = (index: number): Box => anchors[index] ?? [0, 0, 0, 0];
    expect(center(at(0)).map((value) => Math.round(value))).toEqual([2, 2]);
    // The second position is to the right of the first; the second row begins after 16 positions of four.
    expect(center(at(4))[0]).toBeCloseTo(6, 10);
    expect(center(at(64)).map((value) => Math.round(value))).toEqual([2, 6]);
    expect(center(at(1024)).map((value) => Math.round(value))).toEqual([4, 4]);
    const [left, top, right, bottom] = at(2);
    expect((right - left) / (bottom - top)).toBeCloseTo(2, 10);
  });

  it("take the box that they overlap by half, and each box its best anchor", () => {
    const anchors: readonly Box[] = [
      [0, 0, 10, 10],
      [20, 0, 30, 10],
      [40, 0, 50, 10],
      [0, 20, 10, 30],
    ];
    const labels = new Int32Array(4);
    const offsets = new Float32Array(16);
    const boxes = [
      boxOf(2, [0, 0, 10, 8]),
      // No anchor overlaps it by half; the third has the largest overlap.
      boxOf(0, [44, 4, 48, 8]),
      boxOf(1, [0, 20, 10, 30], true),
    ];
    matchAnchors(anchors, boxes, labels, offsets);
    expect([...labels]).toEqual([3, BACKGROUND, 1, IGNORED]);
    const [, y, , height] = encodeBox([0, 0, 10, 8], [0, 0, 10, 10]);
    expect([...offsets.subarray(0, 4)]).toEqual([0, Math.fround(y), 0, Math.fround(height)]);
    expect([...offsets.subarray(4, 8), ...offsets.subarray(12)]).toEqual(new Array(8).fill(0));
  });
});

describe("two boxes with one best anchor", () => {
  const anchors: readonly Box[] = [
    [0, 0, 10, 10],
    [100, 0, 110, 10],
    [0, 8, 10, 18],
  ];
  const labelsOf = (boxes: readonly LabeledBox[]): readonly number[] => {
    const labels = new Int32Array(anchors.length);
    matchAnchors(anchors, boxes, labels, new Float32Array(4 * anchors.length));
    return [...labels];
  };

  it("get one each, the nearer one first, in whatever order they come", () => {
    const near = boxOf(0, [0, 0, 10, 9]);
    const far = boxOf(1, [0, 3, 10, 10]);
    expect(labelsOf([near, far])).toEqual([1, BACKGROUND, 2]);
    expect(labelsOf([far, near])).toEqual([1, BACKGROUND, 2]);
  });

  it("keep it from one that does not count", () => {
    expect(labelsOf([boxOf(4, [0, 0, 10, 4]), boxOf(0, [0, 0, 10, 3], true)])).toEqual([
      5,
      BACKGROUND,
      BACKGROUND,
    ]);
  });
});

describe("detection", () => {
  it("keeps the surest of those that overlap", () => {
    const kept = suppressOverlaps([
      detection(0, 0.9, [0, 0, 10, 10]),
      detection(0, 0.8, [1, 0, 11, 10]),
      detection(0, 0.7, [6, 0, 16, 10]),
    ]);
    expect(kept.map(({ score }) => score)).toEqual([0.9, 0.7]);
  });

  it("decodes what stands out, by class, inside the image", () => {
    const anchors: readonly Box[] = [
      [0, 0, 10, 10],
      [5, 5, 15, 15],
    ];
    const scores = [0.1, 0.8, 0.1, 0.98, 0.01, 0.01];
    const offsets = [-5, 0, 0, 0, 0, 0, 0, 0];
    const found = detect({ scores, offsets }, anchors, 2, 12);
    // Half an anchor to the left, clipped at 0; the second anchor is background.
    expect(found).toEqual([detection(0, 0.8, [0, 0, 5, 10]), detection(1, 0.1, [0, 0, 5, 10])]);
  });
});

describe("mean average precision", () => {
  const [a, b, c]: readonly [Box, Box, Box] = [
    [0, 0, 10, 10],
    [20, 0, 30, 10],
    [40, 0, 50, 10],
  ];

  it("is 1 for what is all found, whatever the scores, and 0 for nothing", () => {
    const truth = [boxOf(0, a), boxOf(1, b)];
    const found = [detection(0, 0.3, a), detection(1, 0.1, b)];
    expect(meanAveragePrecision([{ truth, found }], 2).mean).toBe(1);
    expect(meanAveragePrecision([{ truth, found: [] }], 2).mean).toBe(0);
    expect(meanAveragePrecision([], 2).mean).toBe(0);
  });

  it("is the area under the falling curve", () => {
    // Right, wrong, right with three true boxes: precision 1, 1/2, 2/3 at recall 1/3, 1/3, 2/3.
    const truth = [boxOf(0, a), boxOf(0, b), boxOf(0, c)];
    const found = [detection(0, 0.9, a), detection(0, 0.8, [60, 0, 70, 10]), detection(0, 0.7, b)];
    const { mean, byClass } = meanAveragePrecision([{ truth, found }], 2);
    expect(mean).toBeCloseTo(1 / 3 + 2 / 9, 12);
    // There is no true box of the second class, so it does not count.
    expect(byClass[1]).toBeNaN();
  });

  it("ranks over all images together", () => {
    const images = [
      { truth: [boxOf(0, a)], found: [detection(0, 0.5, a)] },
      { truth: [], found: [detection(0, 0.9, a)] },
    ];
    expect(meanAveragePrecision(images, 1).mean).toBe(1 / 2);
  });

  it("counts a second detection, the wrong class and a loose box as wrong", () => {
    const truth = [boxOf(0, a), boxOf(0, b)];
    const twice = [detection(0, 0.9, a), detection(0, 0.8, a), detection(0, 0.7, b)];
    expect(meanAveragePrecision([{ truth, found: twice }], 1).mean).toBeCloseTo(1 / 2 + 1 / 3, 12);
    expect(meanAveragePrecision([{ truth, found: [detection(1, 0.9, a)] }], 2).mean).toBe(0);
    expect(meanAveragePrecision([{ truth, found: [detection(0, 0.9, [6, 0, 16, 10])] }], 1).mean).toBe(0);
  });

  it("passes by what is ignored", () => {
    const truth = [boxOf(0, a, true), boxOf(0, b)];
    const found = [detection(0, 0.9, a), detection(0, 0.8, a), detection(0, 0.7, b)];
    expect(meanAveragePrecision([{ truth, found }], 1).mean).toBe(1);
  });
});
