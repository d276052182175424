import { MpError } from "@mp/graph";
import { expect, it } from "vitest";
import type { OrtLibrary } from "./library.js";
import { webgpuDevice } from "./webgpu.js";

const library = { path: "/lib/onnxruntime.so", version: "1.30.0" } as OrtLibrary;
const explained = (message: string): unknown =>
  webgpuDevice().explain(library, new MpError("MP_BACKEND_FAILED", message));

it("says what the library has against an option of the provider", () => {
  const message =
    "device webgpu: /o/webgpu_provider_factory.cc:239 WebGpuContextConfig ParseWebGpuContextConfig(const ConfigOptions&) " +
    "std::errc{} == std::from_chars(text.data()).ec was false. Invalid maxStorageBufferBindingSize value: -5\n";
  expect(explained(message)).toMatchObject({
    code: "MP_INVALID_ARGUMENT",
    message:
      "ort: webgpu: provider: ONNX Runtime 1.30.0 refuses an option: Invalid maxStorageBufferBindingSize value: -5; correct it, or leave it out",
  });
});

it("says that there is no GPU, and what to install", () => {
  expect(explained("Failed to get a WebGPU adapter: No supported adapters")).toMatchObject({
    code: "MP_BACKEND_UNAVAILABLE",
    details: { missing: "a GPU that WebGPU takes", version: "1.30.0" },
  });
});

it("leaves other errors as they are", () => {
  for (const error of [new MpError("MP_BACKEND_FAILED", "other"), new Error("Invalid Buffer")])
    expect(webgpuDevice().explain(library, error)).toBe(error);
});
