import { afterEach, describe, expect, it, vi } from "vitest";
import { type XlaOptions, xla } from "../src/index.js";

afterEach(() => vi.unstubAllEnvs());

describe("xla", () => {
  it.each([
    [
      { plugin: "/nowhere/plugin.so" },
      "MP_BACKEND_UNAVAILABLE",
      /\/nowhere\/plugin\.so does not load.*name the library/,
    ],
    [{ plugin: "plugin.so" }, "MP_INVALID_ARGUMENT", /absolute path/],
    [{ plugin: process.execPath }, "MP_BACKEND_UNAVAILABLE", /does not load|no GetPjrtApi/],
    [
      { device: "cuda" },
      "MP_BACKEND_UNAVAILABLE",
      /no PJRT plugin for cuda; .*mp-libxla(\.js)? install cuda13/,
    ],
    [{}, "MP_BACKEND_UNAVAILABLE", /mp-libxla(\.js)? install cuda13/],
    [{ device: "cpu" }, "MP_BACKEND_UNAVAILABLE", /no PJRT plugin for cpu; .*option plugin/],
    [{ device: "tpu" }, "MP_INVALID_ARGUMENT", /device/],
    [{ devices: 0 }, "MP_INVALID_ARGUMENT", /devices must be an integer ≥ 1/],
    [{ donate: 1 }, "MP_INVALID_ARGUMENT", /donate/],
    [{ threads: 1 }, "MP_INVALID_ARGUMENT", /threads/],
  ])("refuses %o with %s", async (options, code, message) => {
    vi.stubEnv("MP_XLA_PLUGIN", undefined);
    await expect(xla(options as XlaOptions)).rejects.toMatchObject({
      code,
      message: expect.stringMatching(message),
    });
  });

  it("takes the plugin that MP_XLA_PLUGIN names", async () => {
    vi.stubEnv("MP_XLA_PLUGIN", "/nowhere/named.so");
    await expect(xla()).rejects.toMatchObject({ message: expect.stringContaining("/nowhere/named.so") });
  });
});
