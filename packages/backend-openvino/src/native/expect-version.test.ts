import { RELEASE } from "@mp/libopenvino";
import { expect, it } from "vitest";
import { expectVersion } from "./expect-version.js";

it("takes the version that is asked for, whichever it is", () => {
  for (const version of [RELEASE, "2027.0.1"])
    expect(() => expectVersion("/a.so", version, version)).not.toThrow();
});

it("refuses another, with both and the remedy", () => {
  expect(() => expectVersion("/a.so", "2026.5.0", RELEASE)).toThrow(
    expect.objectContaining({
      code: "MP_BACKEND_UNAVAILABLE",
      message: expect.stringMatching(
        /version must be 2026\.4\.1, and \/a\.so is 2026\.5\.0; install that with: .*mp-libopenvino.*openvino\(\{ version: "2026\.5\.0" \}\)$/,
      ),
    }),
  );
  expect(() => expectVersion("/a.so", RELEASE, "2026.5.0")).toThrow(
    /name the library of OpenVINO 2026\.5\.0 in/,
  );
});
