import type { KnownFailures } from "@mp/conformance";

/** Cases of the suite that ONNX Runtime fails on any device, each with its cause. */
export const knownFailures: KnownFailures = {};
