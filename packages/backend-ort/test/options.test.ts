import { expect, it } from "vitest";
import { ort } from "../src/index.js";

it.each([
  [{ device: "gpu" }, 'ort: device must be "cpu" or "cuda" or "webgpu", got "gpu"'],
  [{ device: null }, 'ort: device must be "cpu" or "cuda" or "webgpu", got null'],
  [{ devices: "cuda" }, 'ort: has no option "devices"; did you mean device?'],
  [{ threads: 1.5 }, "ort: threads must be an integer from 0 to 1024, got 1.5"],
  [{ cuda: { device: 1 } }, 'ort: cuda: has no option "device"; did you mean deviceId?'],
  [{ cuda: { tf32: 1 } }, "ort: cuda: tf32 must be true or false, got 1"],
  [{ cuda: { memoryLimit: 0.5 } }, "ort: cuda: memoryLimit must be an integer ≥ 1, got 0.5"],
  [
    { device: "webgpu", webgpu: null },
    'ort: webgpu: takes options such as { powerPreference: "low-power" }, got null',
  ],
  [
    { device: "webgpu", webgpu: { maxbufferbytes: 1 } },
    'ort: webgpu: has no option "maxbufferbytes"; did you mean maxBufferBytes?',
  ],
  [
    { device: "webgpu", webgpu: { powerPreference: "high" } },
    'ort: webgpu: powerPreference must be "high-performance" or "low-power", got "high"',
  ],
  [
    { device: "webgpu", webgpu: { maxBufferBytes: 1024 } },
    "ort: webgpu: maxBufferBytes must be an integer ≥ 134217728, got 1024",
  ],
  [
    { device: "webgpu", webgpu: { graphCapture: "yes" } },
    'ort: webgpu: graphCapture must be true or false, got "yes"',
  ],
  [
    { device: "webgpu", webgpu: { provider: { dawnProcTable: "1" } } },
    "ort: webgpu: provider: dawnProcTable takes a device that a C program opened; leave it out",
  ],
  [
    { webgpu: {} },
    'ort: webgpu: has options, but device is not given and would be "cpu"; pass device: "webgpu" too',
  ],
  [
    { cuda: {} },
    'ort: cuda: has options, but device is not given and would be "cpu"; pass device: "cuda" too',
  ],
  ["cuda", 'ort: takes options such as { device: "cpu" }, got "cuda"'],
])("ort(%o) is refused before a library is opened", async (options, message) => {
  await expect(ort(options as never)).rejects.toMatchObject({ code: "MP_INVALID_ARGUMENT", message });
});

it.each([[{ a: 1 }], [[]], [{ a: null }], [{ a: "" }], [{ "": "a" }]])(
  "options of a provider that end the process are refused: %o",
  async (provider) => {
    for (const device of ["cuda", "webgpu"] as const) {
      await expect(ort({ device, [device]: { provider } } as never)).rejects.toMatchObject({
        code: "MP_INVALID_ARGUMENT",
        message: expect.stringContaining(
          `ort: ${device}: provider must be an object of the provider's options, all of them text`,
        ),
      });
    }
  },
);
