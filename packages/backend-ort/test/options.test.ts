import { expect, it } from "vitest";
import { ort } from "../src/index.js";

it.each([
  [{ device: "gpu" }, 'ort: device is "cpu" or "cuda" or "webgpu", got "gpu"'],
  [{ device: null }, 'ort: device is "cpu" or "cuda" or "webgpu", got null'],
  [{ devices: "cuda" }, 'ort: has no option "devices"; did you mean device?'],
  [{ threads: 1.5 }, "ort: threads is an integer of 0 to 1024, got 1.5"],
  [{ cuda: { device: 1 } }, 'ort: cuda: has no option "device"; did you mean deviceId?'],
  [{ cuda: { tf32: 1 } }, "ort: cuda: tf32 is true or false, got 1"],
  [{ cuda: { memoryLimit: 0.5 } }, "ort: cuda: memoryLimit is an integer of 1 or more, got 0.5"],
  ["cuda", 'ort: takes options such as { device: "cpu" }, got "cuda"'],
])("ort(%o) is refused before a library is opened", async (options, message) => {
  await expect(ort(options as never)).rejects.toMatchObject({ code: "MP_INVALID_ARGUMENT", message });
});
