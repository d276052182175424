import { expect, it } from "vitest";
import { ort } from "../src/index.js";

it.each([
  [{ device: "gpu" }, 'ort: device is cpu or cuda, got "gpu"'],
  [{ device: null }, "ort: device is cpu or cuda, got null"],
  [{ devices: "cuda" }, 'ort: has no option "devices"; did you mean device?'],
  ["cuda", 'ort: takes options such as { device: "cpu" }, got "cuda"'],
])("ort(%o) is refused before a library is opened", async (options, message) => {
  await expect(ort(options as never)).rejects.toMatchObject({ code: "MP_INVALID_ARGUMENT", message });
});
