import {
  type BackendManifest,
  type DType,
  type EighthRounding,
  type Graph,
  type HalfDType,
  OPS,
  type Op,
  opTable,
  PRODUCT_OPS,
  roundEighths,
} from "@mp/graph";
import { exactNumerics, libraryTolerance, pairKey } from "@mp/graph/backend";
import { type LowerNode, type OnnxGraph, OPSET_VERSION } from "@mp/onnx/write";
import { lowerCudaNodes } from "./cuda/lower-node.js";
import { type Parted, withConstantsApart } from "./differences/constants-apart.js";
import { lowerDifferently } from "./differences/lower-node.js";
import { withResultsApart } from "./differences/results-apart.js";
import { lowerOwn, type Surroundings } from "./lowerings/lower-node.js";
import { pairKeys } from "./lowerings/op-pairs.js";
import { ownLowerings } from "./lowerings/own-lowerings.js";
import type { Differences, Target } from "./lowerings/target.js";
import { lowerReplacing } from "./replacing/lower-replacing.js";
import { withShadersForResults } from "./webgpu/copies.js";
import { findingsOfVersion, INEXACT, ROUNDED_ON_THE_WAY } from "./webgpu/findings-table.js";
import { webgpuLowerings } from "./webgpu/own-lowerings.js";
import { replacements } from "./webgpu/replacements.js";
import { shortIntegers } from "./webgpu/short-integers.js";

/** The reason why a device does not use a dtype, by dtype. */
export type RefusedDTypes = Readonly<Partial<Record<DType, string>>>;

/** Rules of lowering that depend on the device. */
export interface DeviceRules {
  /** Rewrites the graph to dtypes and casts that the device has; other nodes keep their names. */
  readonly prepare: (graph: Graph, onNode: EighthRounding["onNode"]) => Graph;
  readonly lowerNodes: (target: Target, surroundings: Surroundings) => LowerNode;
  /** Rewrites the ONNX graph after lowering. */
  readonly finish: (graph: OnnxGraph) => OnnxGraph;
  readonly apart: (graph: OnnxGraph) => Parted;
  readonly opset: number;
  /** Whether anchors are used: nodes that only steer the execution order (`execution-order.ts`). */
  readonly hasAnchors: boolean;
  /** Dtypes that are refused without a probe. `native` lists the half dtypes in which the engine computes. */
  readonly refused: (native: readonly HalfDType[]) => RefusedDTypes;
  /** Keys (`pairKey`) of the ops known to round wrongly in one of these native half dtypes. */
  readonly widened: (native: readonly HalfDType[]) => ReadonlySet<string>;
  readonly tolerance: BackendManifest["tolerance"];
  readonly subnormals: BackendManifest["subnormals"];
  readonly determinism: BackendManifest["determinism"];
  /** The probe's findings for an engine version; undefined if it has to be probed. */
  readonly known: typeof findingsOfVersion;
}

const whole: DeviceRules = {
  prepare: (graph) => graph,
  lowerNodes: (target, surroundings) => lowerOwn(ownLowerings(target, surroundings)),
  finish: (graph) => graph,
  apart: (graph) => ({ graph, names: new Set() }),
  opset: OPSET_VERSION,
  hasAnchors: true,
  refused: () => ({}),
  widened: () => new Set(),
  tolerance: libraryTolerance,
  subnormals: exactNumerics.subnormals,
  determinism: true,
  known: () => undefined,
};

const EIGHTH = "WebGPU has no 8-bit floats";

const WEBGPU_TOLERANCE: BackendManifest["tolerance"] = {
  ...libraryTolerance,
  Erf: { f32: 8, f16: 1, bf16: 1 },
  Pow: { f32: 16, f16: 1, bf16: 1 },
};

const UNORDERED = { unsupported: "the GPU adds the terms that a scatter brings to one place in any order" };

export const deviceRules: Readonly<Record<Target["device"], DeviceRules>> = {
  // The casts to f8 take two to three times as long.
  cpu: { ...whole, prepare: (graph, onNode) => roundEighths(graph, { onNode }) },
  cuda: {
    ...whole,
    lowerNodes: lowerCudaNodes,
    // Sums of bf16 lose subnormals.
    widened: (native) =>
      new Set([...pairKeys(native, ROUNDED_ON_THE_WAY), pairKey({ op: "ReduceSum", dtype: "bf16" })]),
    determinism: UNORDERED,
  },
  webgpu: {
    prepare: shortIntegers,
    // Every node has to run on the device.
    lowerNodes: (target, surroundings) => lowerReplacing(webgpuLowerings(target, surroundings), replacements),
    finish: withShadersForResults,
    apart: whole.apart,
    // The kernels of Sin, Cos, Elu, MaxPool and ConvTranspose exist only up to this opset; no written node is newer.
    opset: 21,
    // Anchors are Shape nodes, which run on the processor.
    hasAnchors: false,
    refused: (native) => ({
      ...(native.includes("f16") ? {} : { f16: "the adapter has no shader-f16" }),
      bf16: "WebGPU has no bfloat16, use float16",
      f8e4m3: EIGHTH,
      f8e5m2: EIGHTH,
      u64: "WebGPU has 32-bit integers only, use i32",
    }),
    widened: (native) => new Set(pairKeys(native, INEXACT)),
    tolerance: WEBGPU_TOLERANCE,
    // WGSL leaves subnormals to the device: https://www.w3.org/TR/WGSL/#differences-from-ieee754
    subnormals: { ...exactNumerics.subnormals, f32: "flush" },
    determinism: UNORDERED,
    known: findingsOfVersion,
  },
};

/** Whether an op is not widened to f32 in a half dtype: matrix products, and ops that only move elements. */
function isInHalves(op: Op): boolean {
  const { moves } = opTable[op];
  return (moves !== undefined && moves !== "fills") || UNROUNDED.has(op);
}

const UNROUNDED: ReadonlySet<Op> = new Set<Op>([...PRODUCT_OPS, "Gemm", "Cast", "Constant", "Range", "Pad"]);

/** Rules for an engine other than ONNX Runtime, from the differences that the probe found. */
function differingRules(differences: Differences): DeviceRules {
  return {
    ...whole,
    prepare: (graph, onNode) => {
      const rounded = roundEighths(graph, { ofStored: true, onNode });
      return differences.hasShortIntegers ? shortIntegers(rounded) : rounded;
    },
    lowerNodes: (target, surroundings) => lowerDifferently(target, differences, surroundings),
    finish: withResultsApart,
    apart: withConstantsApart,
    // The engine may round a chain of operators only once.
    widened: (native) =>
      new Set(
        pairKeys(
          native,
          OPS.filter((op) => !isInHalves(op)),
        ),
      ),
    subnormals: {
      ...whole.subnormals,
      ...Object.fromEntries(differences.flushed.map((half) => [half, "flush"] as const)),
    },
    refused: () =>
      differences.hasShortIntegers ? { u64: "the engine computes 64-bit integers in 32 bits, use i32" } : {},
  };
}

/** The rules for an engine. */
export const rulesFor = ({ device, differences }: Pick<Target, "device" | "differences">): DeviceRules =>
  differences === undefined ? deviceRules[device] : differingRules(differences);
