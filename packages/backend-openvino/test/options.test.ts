import { describe, expect, it } from "vitest";
import { type OpenVinoOptions, openvino } from "../src/index.js";

describe("openvino", () => {
  it.each([
    [
      { library: "/nowhere/libopenvino_c.so" },
      "MP_BACKEND_UNAVAILABLE",
      /\/nowhere.*install it with: .*mp-libopenvino/,
    ],
    [{ library: "libopenvino_c.so" }, "MP_INVALID_ARGUMENT", /absolute path/],
    [{ library: process.execPath }, "MP_BACKEND_UNAVAILABLE", /does not load .*install it again/],
    [{ threads: 0 }, "MP_INVALID_ARGUMENT", /threads/],
    [{ device: "GPU" }, "MP_INVALID_ARGUMENT", /device/],
  ])("refuses %o with %s", async (options, code, message) => {
    await expect(openvino(options as OpenVinoOptions)).rejects.toMatchObject({
      code,
      message: expect.stringMatching(message),
    });
  });
});
