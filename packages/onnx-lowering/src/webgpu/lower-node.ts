/** Lowerings for ONNX Runtime's WebGPU provider, which must run every node. */
import type { LowerNode } from "@mp/onnx/write";
import type { Surroundings } from "../lowerings/lower-node.js";
import type { Target } from "../lowerings/target.js";
import { lowerReplacing } from "../replacing/lower-replacing.js";
import { webgpuLowerings } from "./own-lowerings.js";
import { replacements } from "./replacements.js";

export const lowerWebgpuNodes = (target: Target, surroundings: Surroundings): LowerNode =>
  lowerReplacing(webgpuLowerings(target, surroundings), replacements);
