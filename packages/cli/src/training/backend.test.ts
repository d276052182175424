import { afterEach, expect, it, vi } from "vitest";
import { UsageError } from "../run-app.js";
import { backendOf } from "./backend.js";

afterEach(() => vi.unstubAllEnvs());

it("names the command that installs OpenVINO's library where it is missing", async () => {
  vi.stubEnv("MP_OPENVINO", "");
  vi.stubEnv("XDG_CACHE_HOME", "/no/such/cache");
  await expect(backendOf({ backend: "openvino", device: "cpu" })).rejects.toMatchObject({
    code: "MP_BACKEND_UNAVAILABLE",
    message: expect.stringMatching(/not installed.*install it with: .*mp-libopenvino/),
  });
});

it.each(["openvino", "reference"] as const)("refuses a device that %s lacks", async (backend) => {
  const opened = Promise.resolve().then(() => backendOf({ backend, device: "cuda" }));
  await expect(opened).rejects.toThrow(new UsageError(`--backend ${backend} has no device but cpu`));
});
