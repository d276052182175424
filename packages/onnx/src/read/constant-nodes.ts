import { isFloat } from "@mp/graph";
import { HELPER_KEY, originFromMetadata } from "../metadata-keys.js";
import type { OnnxGraph, OnnxInitializer } from "../model.js";

/** The Constant nodes that may be parameters: floats with dimensions that this package did not write as constants. */
export function constantNodes({ nodes }: OnnxGraph): readonly OnnxInitializer[] {
  return nodes.flatMap(({ opType, domain, metadata, attributes, outputs: [name = ""] }) => {
    const value = opType === "Constant" && domain === "" ? attributes["value"] : undefined;
    if (value?.kind !== "tensor" || !isFloat(value.value.dtype) || value.value.shape.length === 0) return [];
    const isOurs = metadata[HELPER_KEY] !== undefined || originFromMetadata(metadata) !== undefined;
    return isOurs ? [] : [{ name, tensor: value.value }];
  });
}
