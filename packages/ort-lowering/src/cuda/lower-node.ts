/**
 * Lowerings for ONNX Runtime's CUDA provider: the processor's, and what its kernels lack. Its maximum over windows ends
 * at opset 21, where its convolution of bfloat16 does not exist yet; so windows are composed, as on WebGPU.
 */
import type { LowerNode } from "@mp/onnx/write";
import { lowerNodes, type Surroundings } from "../lowerings/lower-node.js";
import type { Target } from "../lowerings/target.js";
import { poolingLowerings } from "../webgpu/pooling.js";
import { convTranspose } from "./convolution.js";

export const lowerCudaNodes = (target: Target, surroundings: Surroundings): LowerNode =>
  lowerNodes(target, surroundings, { ...poolingLowerings, ConvTranspose: convTranspose });
