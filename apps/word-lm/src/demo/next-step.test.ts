import { expect, it } from "vitest";
import { type Library, nextStep } from "./next-step.js";

const reason = "no index";
const libraries: readonly Library[] = [
  { state: "other platform" },
  { state: "missing" },
  { state: "installed" },
  { state: "native" },
  { state: "unreachable", reason },
  { state: "unusable", reason },
];
const asBefore = ["--precision", "mixed_float16"];

it.each(libraries)("runs as before on a processor without bf16 units, library $state", (library) => {
  expect(nextStep(false, library)).toEqual({
    do: "run",
    flags: asBefore,
    line: expect.stringMatching(/^On ONNX Runtime, .* no units that multiply bfloat16$/),
  });
});

it("fetches the library once the size was told, opens it, and runs in bfloat16", () => {
  expect(nextStep(true, { state: "missing" })).toEqual({
    do: "fetch",
    line: expect.stringMatching(/59 MB, in at most \d+ s$/),
  });
  expect(nextStep(true, { state: "installed" })).toEqual({ do: "open" });
  expect(nextStep(true, { state: "native" })).toEqual({
    do: "run",
    flags: expect.arrayContaining(["--backend", "openvino", "--precision", "mixed_bfloat16"]),
    line: expect.stringMatching(/^On OpenVINO/),
  });
});

it.each([
  [{ state: "other platform" }, /Linux on x64 alone$/],
  [{ state: "unreachable", reason }, /no index$/],
  [{ state: "unusable", reason }, /no index$/],
] as const)("runs as before with bf16 units, library %j", (library, line) => {
  expect(nextStep(true, library)).toEqual({
    do: "run",
    flags: asBefore,
    line: expect.stringMatching(line),
  });
});
