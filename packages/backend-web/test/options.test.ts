import { afterEach, expect, it, vi } from "vitest";
import { ortWeb } from "../src/index.js";

afterEach(() => vi.unstubAllGlobals());

const open = (gpu: unknown): Promise<unknown> => {
  vi.stubGlobal("navigator", gpu === undefined ? {} : { gpu });
  return ortWeb();
};

it("refuses unknown options", async () => {
  await expect(ortWeb({ power: "low" } as never)).rejects.toMatchObject({ code: "MP_INVALID_ARGUMENT" });
  await expect(ortWeb({ powerPreference: "low" } as never)).rejects.toMatchObject({
    code: "MP_INVALID_ARGUMENT",
  });
});

const unavailable = (part: string) => ({
  code: "MP_BACKEND_UNAVAILABLE",
  message: expect.stringContaining(part),
});

it("says what is missing without WebGPU", async () => {
  await expect(open(undefined)).rejects.toMatchObject(unavailable("no navigator.gpu"));
});

it("says what is missing without an adapter", async () => {
  await expect(open({ requestAdapter: async () => null })).rejects.toMatchObject(unavailable("no adapter"));
});

it("says what is missing without a device", async () => {
  const adapter = {
    limits: {},
    features: new Set(),
    requestDevice: () => Promise.reject(new Error("it is consumed")),
  };
  await expect(open({ requestAdapter: async () => adapter })).rejects.toMatchObject(
    unavailable("it is consumed"),
  );
});
