import { MpError, tensor } from "@mp/graph";
import { describe, expect, it } from "vitest";
import { COPY_MODEL } from "./copy-model.js";
import { cudaDevice, cudaProviderOptions, explainCudaFailure } from "./cuda.js";
import { IdentityCopier } from "./device-copy.js";
import { loadLibrary } from "./library.js";
import { openRuntime } from "./runtime.js";

describe("cudaProviderOptions", () => {
  it("keeps float32 out of TF32, takes the first device and names no limit", () => {
    expect(cudaProviderOptions()).toEqual({
      device_id: "0",
      use_tf32: "0",
      cudnn_conv_algo_search: "HEURISTIC",
      arena_extend_strategy: "kSameAsRequested",
    });
  });

  it("asks for a CUDA graph only where a session is recorded", () => {
    expect(cudaProviderOptions({ graphCapture: true })).not.toHaveProperty("enable_cuda_graph");
    expect(cudaProviderOptions({}, { capture: true })).toMatchObject({ enable_cuda_graph: "1" });
    expect(cudaDevice({ graphCapture: true }).captures).toBe(true);
    expect(cudaDevice().captures).toBe(false);
  });

  it("turns named options into the provider's, which may be replaced by their own names", () => {
    const options = { deviceId: 1, tf32: true, memoryLimit: 2 ** 34 };
    const provider = { cudnn_conv_algo_search: "EXHAUSTIVE" };
    expect(cudaProviderOptions({ ...options, provider })).toEqual({
      device_id: "1",
      use_tf32: "1",
      cudnn_conv_algo_search: "EXHAUSTIVE",
      arena_extend_strategy: "kSameAsRequested",
      gpu_mem_limit: "17179869184",
    });
  });
});

describe("explainCudaFailure", () => {
  const explain = (message: string) =>
    explainCudaFailure(loadLibrary(), new MpError("MP_BACKEND_FAILED", message)) as MpError;

  it.each([
    ["CUDA execution provider is not enabled in this build.", "a library with CUDA", "onnxruntime-gpu=="],
    [
      "Failed to load library /x/libonnxruntime_providers_shared.so with error: /x/libonnxruntime_providers_shared.so: cannot open shared object file: No such file or directory",
      "the CUDA provider library",
      "onnxruntime-gpu==",
    ],
    [
      "Failed to load library /x/libonnxruntime_providers_cuda.so with error: libcublasLt.so.13: cannot open shared object file: No such file or directory",
      "CUDA",
      "LD_LIBRARY_PATH",
    ],
    [
      "Failed to load library /x/libonnxruntime_providers_cuda.so with error: libcudnn.so.9: cannot open shared object file: No such file or directory",
      "cuDNN",
      "LD_LIBRARY_PATH",
    ],
    [
      "Failed to load library /x/libonnxruntime_providers_cuda.so with error: libcuda.so.1: cannot open shared object file: No such file or directory",
      "a CUDA driver or device",
      "nvidia-smi",
    ],
    [
      "CUDA failure 100: no CUDA-capable device is detected ; GPU=-1",
      "a CUDA driver or device",
      "nvidia-smi",
    ],
    [
      "CUDA failure 35: CUDA driver version is insufficient for CUDA runtime version",
      "a CUDA driver or device",
      "nvidia-smi",
    ],
    ["Failed to load shared library", "a part of the CUDA provider", "cuDNN"],
  ])("reads %s", (message, missing, remedy) => {
    const error = explain(message);
    expect(error.code).toBe("MP_BACKEND_UNAVAILABLE");
    expect(error.details["missing"]).toBe(missing);
    expect(error.message).toContain(`${missing} is missing`);
    expect(error.message).toContain(remedy);
    expect(error.message).toContain(message);
  });

  it("leaves errors alone that are not about loading", () => {
    const memory = new MpError("MP_OUT_OF_MEMORY", "CUDA failure 2: out of memory");
    expect(explainCudaFailure(loadLibrary(), memory)).toBe(memory);
    const other = new Error("other");
    expect(explainCudaFailure(loadLibrary(), other)).toBe(other);
    const explained = explain("Failed to load library libcudnn.so.9: cannot open shared object file");
    expect(explainCudaFailure(loadLibrary(), explained)).toBe(explained);
  });
});

describe("device cuda", () => {
  it("works, or says in one error what is missing and frees what it took", async () => {
    try {
      const runtime = await openRuntime({ device: "cuda" });
      const native = runtime.upload(tensor(Float32Array.of(1, 2, 3)));
      expect(native.isOnDevice).toBe(true);
      expect([...native.read().data]).toEqual([1, 2, 3]);
      await runtime.dispose();
    } catch (error) {
      expect(error).toMatchObject({
        code: "MP_BACKEND_UNAVAILABLE",
        details: { missing: expect.any(String), version: expect.any(String) },
      });
    }
    // Only possible when the failed runtime has released the environment.
    const other = await openRuntime({ threads: 1 });
    await other.dispose();
  });
});

describe("IdentityCopier", () => {
  it("copies whole buffers in pieces, both ways, wherever the memory is", async () => {
    const runtime = await openRuntime();
    const { functions, make } = runtime.library;
    const session = await runtime.createSession(COPY_MODEL);
    const memory = make("memory", (out) => functions.CreateCpuMemoryInfo(0, 0, out));
    const allocator = make("allocator", (out) => functions.GetAllocatorWithDefaultOptions(out));
    const copier = new IdentityCopier(session, memory, allocator);
    const size = 64 * 1024 * 1024 + 5;
    const there = runtime.allocate({ dtype: "u8", shape: [size] });
    const bytes = new Uint8Array(size).map((_, index) => (index * 7) % 251);
    copier.write(there, bytes);
    expect(Buffer.compare(there.view() as Uint8Array, bytes)).toBe(0);
    const back = new Uint8Array(size);
    copier.read(there, back);
    expect(Buffer.compare(back, bytes)).toBe(0);
    functions.ReleaseMemoryInfo(memory);
    session.release();
    await runtime.dispose();
  });
});
