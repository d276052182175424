import type { KnownFailures } from "@mp/conformance";

const SINES = "on software Vulkan, sines and cosines of arguments beyond 2^24 are wrong";

/** Cases that ONNX Runtime's WebGPU provider fails, each with its cause. */
export const knownFailures: KnownFailures = {
  "op/Sin-f32/values": { reason: SINES, pattern: /Sin\(/ },
  "op/Cos-f32/values": { reason: SINES, pattern: /Cos\(/ },
};
