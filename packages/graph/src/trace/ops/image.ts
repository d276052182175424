/** ONNX image operators composed of other operators, so that every engine supports them and their gradients. */
import { invalid, shapeMismatch } from "../../errors.js";
import { checkOptions, type OptionNames } from "../../options.js";
import { elementCount, formatShape, type Shape } from "../../shape.js";
import { shown } from "../../shown.js";
import { asTensor } from "../emit.js";
import type { Tensor } from "../tensor.js";
import { add, div, mul, pow } from "./binary.js";
import { reshape, transpose } from "./movement.js";
import { averagePool } from "./pooling.js";

/** Order within the channel axis: block positions are outermost with `DCR`, innermost with `CRD`. */
export type DepthMode = "DCR" | "CRD";

export interface DepthOptions {
  /** Default `DCR`. */
  readonly mode?: DepthMode;
}

const DEPTH: OptionNames<DepthOptions> = { mode: true };

function readMode(what: string, options: DepthOptions): DepthMode {
  checkOptions(what, options, DEPTH, '{ mode: "CRD" }');
  const { mode = "DCR" } = options;
  if (mode === "DCR" || mode === "CRD") return mode;
  throw invalid(`${what}: mode must be "DCR" or "CRD", got ${shown(mode)}`);
}

function countPlanes(what: string, x: Tensor, blockSize: number): readonly [number, number, number, number] {
  const { shape } = asTensor(x, what);
  const [batch, channels, height, width] = shape;
  if (
    batch === undefined ||
    channels === undefined ||
    height === undefined ||
    width === undefined ||
    shape.length > 4
  ) {
    throw shapeMismatch(`${what}: x must be [N, C, H, W], got ${formatShape(shape)}`);
  }
  if (!Number.isSafeInteger(blockSize) || blockSize < 1) {
    throw invalid(`${what}: blockSize must be ≥ 1, got ${shown(blockSize)}`);
  }
  return [batch, channels, height, width];
}

/**
 * Rearranges channels into spatial blocks: x [N, C · b², H, W] to [N, C, H · b, W · b].
 * @throws MP_SHAPE_MISMATCH if b² does not divide the channels
 */
export function depthToSpace(x: Tensor, blockSize: number, options: DepthOptions = {}): Tensor {
  const mode = readMode("DepthToSpace", options);
  const [batch, channels, height, width] = countPlanes("DepthToSpace", x, blockSize);
  const kept = channels / blockSize ** 2;
  if (!Number.isInteger(kept)) {
    const problem = `${blockSize}² does not divide ${channels} channels`;
    throw shapeMismatch(`DepthToSpace: ${problem}`);
  }
  const apart: Shape =
    mode === "DCR"
      ? [batch, blockSize, blockSize, kept, height, width]
      : [batch, kept, blockSize, blockSize, height, width];
  const together = transpose(reshape(x, apart), mode === "DCR" ? [0, 3, 4, 1, 5, 2] : [0, 1, 4, 2, 5, 3]);
  return reshape(together, [batch, kept, height * blockSize, width * blockSize]);
}

/**
 * The inverse of `depthToSpace`: x [N, C, H, W] to [N, C · b², H / b, W / b].
 * @throws MP_SHAPE_MISMATCH if b does not divide H and W
 */
export function spaceToDepth(x: Tensor, blockSize: number, options: DepthOptions = {}): Tensor {
  const mode = readMode("SpaceToDepth", options);
  const [batch, channels, height, width] = countPlanes("SpaceToDepth", x, blockSize);
  if (height % blockSize !== 0 || width % blockSize !== 0) {
    const problem = `blocks of ${blockSize} do not fill [${height}, ${width}]`;
    throw shapeMismatch(`SpaceToDepth: ${problem}`);
  }
  const [rows, columns] = [height / blockSize, width / blockSize];
  const apart = reshape(x, [batch, channels, rows, blockSize, columns, blockSize]);
  const together = transpose(apart, mode === "DCR" ? [0, 3, 5, 1, 2, 4] : [0, 1, 3, 5, 2, 4]);
  return reshape(together, [batch, channels * blockSize ** 2, rows, columns]);
}

export interface LrnOptions {
  /** Number of channels whose squares are summed, centered on the channel itself. */
  readonly size: number;
  /** Default 0.0001. */
  readonly alpha?: number;
  /** Default 0.75. */
  readonly beta?: number;
  /** Default 1. */
  readonly bias?: number;
}

const LRN: OptionNames<LrnOptions> = { size: true, alpha: true, beta: true, bias: true };

/**
 * Local response normalization across the channels of x [N, C, …] (Krizhevsky et al. 2012):
 * x / (bias + alpha / size · Σ x²)^beta. @throws MP_INVALID_ARGUMENT for a size below 1, MP_SHAPE_MISMATCH
 */
export function lrn(x: Tensor, options: LrnOptions): Tensor {
  checkOptions("LRN", options, LRN, "{ size: 5 }");
  const { size, alpha = 1e-4, beta = 0.75, bias = 1 } = options;
  const { shape } = asTensor(x, "LRN");
  const [batch = 0, channels = 0, ...rest] = shape;
  if (shape.length < 2) throw shapeMismatch(`LRN: x must be [N, C, …], got ${formatShape(shape)}`);
  if (!Number.isSafeInteger(size) || size < 1)
    throw invalid(`LRN: size must be an integer ≥ 1, got ${shown(size)}`);
  for (const [name, given] of Object.entries({ alpha, beta, bias })) {
    if (Number.isFinite(given)) continue;
    throw invalid(`LRN: ${name} must be a finite number, got ${shown(given)}`);
  }
  const pads = [Math.floor((size - 1) / 2), 0, Math.ceil((size - 1) / 2), 0];
  const planes = reshape(mul(x, x), [batch, 1, channels, elementCount(rest, "LRN")]);
  const mean = averagePool(planes, [size, 1], { strides: 1, pads, countIncludePad: true });
  return div(x, pow(add(mul(reshape(mean, shape), alpha), bias), beta));
}
