import type { KnownFailures } from "@mp/conformance";

const SINES = "on software Vulkan, sines and cosines of arguments beyond 2^24 are wrong";

/** The same identities of the same numbers, in nodes whose operands come from different places. */
const PLACES = ["inputs", "constants", "slots", "constant-slots", "inner-values"];

/** Cases that ONNX Runtime's WebGPU provider fails, each with its cause. */
export const knownFailures: KnownFailures = {
  "op/Sin-f32/values": { reason: SINES, pattern: /Sin\(/ },
  "op/Cos-f32/values": { reason: SINES, pattern: /Cos\(/ },
  ...Object.fromEntries(
    PLACES.map((place) => [
      `rewrite/functions-f32/of-${place}`,
      { reason: SINES, pattern: /^"sin\(x\)\^2 \+ cos\(x\)\^2 is 1"/ },
    ]),
  ),
};
