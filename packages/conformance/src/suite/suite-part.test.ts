import { afterEach, describe, expect, it, vi } from "vitest";
import { universalCase } from "../conformance-case.js";
import { allCases } from "./all-cases.js";
import { askedPart, partOf, suitePart } from "./suite-part.js";

afterEach(() => {
  vi.unstubAllEnvs();
});

const PARTS = 4;
const idsOf = (part: number): readonly string[] => partOf(allCases, part, PARTS).map(({ id }) => id);

describe("parts of the suite", () => {
  it("hold every case once, in as many parts as there are", () => {
    const all = [0, 1, 2, 3].flatMap((part) => idsOf(20_000 + part));
    expect(all.toSorted()).toEqual(allCases.map(({ id }) => id).toSorted());
  });

  it("have equal shares of every class", () => {
    const classes = ["op/Conv-", "rewrite/nodes-", "ranks/shard", "tail/Cast-", "gradient/MatMul-", "run/"];
    for (const start of classes) {
      const counts = [0, 1, 2, 3].map((part) => idsOf(part).filter((id) => id.startsWith(start)).length);
      expect(Math.min(...counts), start).toBeGreaterThan(0);
      if (start !== "run/") expect(Math.max(...counts) - Math.min(...counts), start).toBeLessThanOrEqual(1);
    }
  });

  it("start at different parts, so that each part has every dtype", () => {
    for (const part of [0, 1, 2, 3]) {
      const dtypes = idsOf(part).flatMap((id) => /^tail\/[A-Za-z]+-([a-z0-9]+)\//.exec(id)?.[1] ?? []);
      for (const dtype of ["f32", "f16", "bf16", "i32", "i64", "u8", "bool"])
        expect(dtypes.filter((one) => one === dtype).length, dtype).toBeGreaterThan(2);
    }
  });
});

describe("MP_SUITE", () => {
  const cases = Array.from({ length: 12 }, (_, at) => universalCase(`a/b/c${at}`, () => {}));

  it("names a part, all of them, or by default that of the day", () => {
    expect(askedPart({ MP_SUITE: "whole" })).toBeUndefined();
    expect(askedPart({ MP_SUITE: "7" })).toBe(7);
    expect(askedPart({})).toBeGreaterThan(20_000);
    expect(() => askedPart({ MP_SUITE: "some" })).toThrow(/MP_SUITE must be "whole" or/);
  });

  it("leaves out what is not in the part, but no case that is always run", () => {
    vi.stubEnv("MP_SUITE", "3");
    expect(suitePart(cases, 3)).toHaveLength(4);
    expect(suitePart(cases, 3, () => true)).toHaveLength(12);
    expect(suitePart(cases, 1)).toHaveLength(12);
    vi.stubEnv("MP_SUITE", "whole");
    expect(suitePart(cases, 3)).toHaveLength(12);
  });
});
