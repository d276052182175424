import type { KnownFailures } from "@mp/conformance";

/** Cases of the suite that onnxruntime-web fails, each with its cause. */
export const knownFailures: KnownFailures = {};
