import { type HostTensor, tensor } from "@mp/graph";
import { describe, expect, it } from "vitest";
import { ownPart, withRankParts } from "./rank-parts.js";

const mean = (x: number): HostTensor => tensor(Float32Array.of(x));
const seen = tensor(Int32Array.of(3));
const refuse = (message: string): never => {
  throw new Error(message);
};
const partOf = (x: number, cursor: string) => ({
  tensors: { "model/mean": mean(x), "model/seen": seen },
  metadata: { cursor },
});
const checkpoint = {
  tensors: { "master/w": mean(9), ...partOf(2, "1").tensors },
  metadata: { format: "mp.training/1", cursor: '{"feed":1,"pass":2,"place":5,"shapes":null}' },
};
const made = withRankParts(checkpoint, [partOf(2, checkpoint.metadata.cursor), partOf(6, "7")]);

describe("a checkpoint of ranks", () => {
  it("has what differs from rank 0, and no more", () => {
    expect(Object.keys(made.tensors)).toEqual(["master/w", "model/mean", "model/seen", "rank/1/model/mean"]);
    expect(made.metadata).toEqual({ ...checkpoint.metadata, ranks: "2", "rank/1/cursor": "7" });
  });

  it("gives each of as many ranks its own", () => {
    expect(ownPart(made, { rank: 0, size: 2 }, refuse)).toMatchObject({ ...checkpoint, note: undefined });
    const second = ownPart(made, { rank: 1, size: 2 }, refuse);
    expect(second.tensors).toEqual({ ...checkpoint.tensors, "model/mean": mean(6) });
    expect(second.metadata["cursor"]).toBe("7");
  });

  it("gives another number of them the mean, at the beginning of the pass", () => {
    for (const place of [
      { rank: 0, size: 1 },
      { rank: 2, size: 3 },
    ]) {
      const { tensors, metadata, note } = ownPart(made, place, refuse);
      expect(tensors).toEqual({ ...checkpoint.tensors, "model/mean": mean(4) });
      expect(JSON.parse(metadata["cursor"] as string)).toMatchObject({ pass: 2, place: null });
      expect(note).toMatch(/by 2 ranks and goes on with/);
    }
  });

  it("of one process is read by many, from the beginning of the pass", () => {
    const { tensors, metadata } = ownPart(checkpoint, { rank: 1, size: 2 }, refuse);
    expect(tensors).toEqual(checkpoint.tensors);
    expect(JSON.parse(metadata["cursor"] as string)).toMatchObject({ pass: 2, place: null });
  });

  it.each([
    ["a number of ranks that is none", { ...made, metadata: { ranks: "many" } }, /number of ranks is many/],
    [
      "a rank that was not there",
      { ...made, metadata: { ranks: "1" } },
      /rank\/1\/model\/mean is of no rank/,
    ],
    [
      "another shape",
      { ...made, tensors: { ...made.tensors, "rank/1/model/mean": tensor(Float32Array.of(1, 2)) } },
      /rank\/1\/model\/mean is of no rank/,
    ],
  ])("is refused with %s", (_name, file, message) => {
    expect(() => ownPart(file, { rank: 0, size: 2 }, refuse)).toThrow(message);
  });
});
