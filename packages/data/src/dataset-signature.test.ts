import { tensor } from "@mp/core";
import { describe, expect, it } from "vitest";
import { datasetSignature } from "./dataset-signature.js";

const pixels = () => tensor(Uint8Array.of(1, 2, 3, 4), [2, 2]);
const boxes = (label: number, right: number) => [
  [{ label, box: [0, 0, right, 4], isIgnored: false }],
  ...Array.from({ length: 40 }, () => [{ label: 2, box: [1, 1, 3, 3], isIgnored: true }]),
];

describe("datasetSignature", () => {
  it("does not depend on the order of keys, at any depth, nor on options left out", () => {
    const one = datasetSignature("images", { x: pixels(), batch: 2, augment: { seed: 1, flip: true } });
    const other = datasetSignature("images", {
      augment: { flip: true, seed: 1, crop: undefined },
      shuffle: undefined,
      batch: 2,
      x: pixels(),
    });
    expect(other).toBe(one);
    expect(one).toMatch(/^images augment \{"flip":true,"seed":1\}, batch 2, x u8\[2, 2\] [0-9a-f]{16}$/);
  });

  it("tells apart any pixel, shape, number, word and box, and says long ones by a hash", () => {
    const variants = [
      { x: pixels() },
      { x: tensor(Uint8Array.of(1, 2, 3, 5), [2, 2]) },
      { x: tensor(Uint8Array.of(1, 2, 3, 4), [4, 1]) },
      { x: Uint8Array.of(1, 2, 3, 4) },
      { x: "1" },
      { x: 1 },
      { x: Number.NaN },
      { x: null },
      { x: [1, 2] },
      { x: [[1], 2] },
      { x: { 0: 1, 1: 2 } },
      { x: boxes(1, 4) },
      { x: boxes(0, 4) },
      { x: boxes(1, 4.5) },
    ];
    const signatures = variants.map((parts) => datasetSignature("any", parts));
    expect(new Set(signatures).size).toBe(variants.length);
    expect(signatures.every((text) => text.length < 200)).toBe(true);
  });

  it("refuses by name what it could not tell apart, and quotes names of more than a word", () => {
    class Boxes {
      readonly #all = [1];
      get all(): readonly number[] {
        return this.#all;
      }
    }
    const around: { self?: unknown } = {};
    around.self = around;
    for (const none of [new Map(), new Set(), new Date(), new Boxes(), () => 1, Symbol("a"), around]) {
      expect(() => datasetSignature("any", { y: [{ boxes: none }] })).toThrow(
        /^datasetSignature: y\/0\/boxes.* must be a number, text, tensor, typed array, or a list or plain object of such, got /,
      );
    }
    expect(datasetSignature("any", { a: 1, b: 2 })).not.toBe(datasetSignature("any", { "a 1, b": 2 }));
  });
});
