import { expect, test } from "vitest";
import { halfUnits } from "./half-units.js";

test("a processor multiplies the halves whose units it names", () => {
  expect(halfUnits("cpu", "flags : fpu avx512f avx512_bf16 avx512_vnni")).toEqual(["bf16"]);
  expect(halfUnits("cpu", "flags : avx512_fp16 amx_bf16 amx_tile")).toEqual(["bf16", "f16"]);
  expect(halfUnits("cpu", "Features : fp asimd bf16 i8mm")).toEqual(["bf16"]);
  expect(halfUnits("cpu", "flags : fpu avx2 fma f16c avx512f")).toEqual([]);
  expect(halfUnits("cpu", "")).toEqual([]);
});

test("a graphics processor does all of them", () => {
  expect(halfUnits("cuda", "")).toEqual(["bf16", "f16"]);
});
