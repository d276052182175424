import { describe, expect, it } from "vitest";
import { bytes, count, percent, powerOfTwo, scaleText, significant } from "./numbers.js";

const nbsp = (text: string): string => text.replaceAll(" ", "\u00a0");

describe("numbers", () => {
  it("never calls something nothing, or not all all", () => {
    expect([0, 1, 1e-9, 0.99999, 0.0503, 0.9057, 0.000032].map(percent)).toEqual(
      ["0 %", "100 %", "< 0.0001 %", "> 99.9 %", "5 %", "90.6 %", "0.0032 %"].map(nbsp),
    );
  });

  it("write powers of two as such", () => {
    expect([powerOfTwo(-14), powerOfTwo(0), powerOfTwo(24)]).toEqual(["2⁻¹⁴", "2⁰", "2²⁴"]);
    expect([scaleText(65536), scaleText(0.5), scaleText(1000)]).toEqual(["2¹⁶", "2⁻¹", "1000"]);
  });

  it("keep three digits, and what is not finite", () => {
    expect([0.0447301, 12345678, -0.00001234, 412.52, Number.NaN, -Infinity].map(significant)).toEqual([
      "0.0447",
      "1.23e+7",
      "−1.23e−5",
      "413",
      "NaN",
      "−∞",
    ]);
  });

  it("have units", () => {
    expect([0, 1023, 1024, 8982400, 3 * 2 ** 30].map(bytes)).toEqual([
      "0 B",
      "1020 B",
      "1 KiB",
      "8.57 MiB",
      "3 GiB",
    ]);
    expect([count(1, "step"), count(1200, "step")]).toEqual(["1 step", "1,200 steps"]);
  });
});
