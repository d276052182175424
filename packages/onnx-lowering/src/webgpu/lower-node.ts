/** Lowerings for ONNX Runtime's WebGPU provider, on which every node has to run. */
import type { LowerNode } from "@mp/onnx/write";
import type { Surroundings } from "../lowerings/lower-node.js";
import type { Target } from "../lowerings/target.js";
import { lowerReplacing } from "../replacing/lower-replacing.js";
import { webgpuLowerings } from "./own-lowerings.js";
import { replacements } from "./replacements.js";

/** Lowers nodes for that provider. */
export const lowerWebgpuNodes = (target: Target, surroundings: Surroundings): LowerNode =>
  lowerReplacing(webgpuLowerings(target, surroundings), replacements);
