import { type BackendManifest, DTYPES, opDTypes } from "@mp/graph";
import { exactNumerics, libraryTolerance, opSupport } from "@mp/graph/backend";
import { invalid } from "@mp/graph/internal";
import { deviceOf } from "./flags.js";
import type { Client, Plugin } from "./pjrt/index.js";
import type { Findings } from "./probe.js";

/** Manifest fields of every XLA program: all dtypes and operators are native and rounded as IEEE 754 says. */
export const NATIVE: Omit<BackendManifest, "engine" | "device" | "profile" | "memory"> = {
  specVersion: "v1",
  dtypes: Object.fromEntries(
    DTYPES.map((dtype) => [dtype, { storage: dtype, compute: "native" }]),
  ) as BackendManifest["dtypes"],
  ...exactNumerics,
  ops: opSupport(() => undefined),
  tolerance: libraryTolerance,
  eventLoop: "free",
};

/** The supported operators. With flash attention, AttentionGradient is one of them. */
const supportedOps = (flashAttention: boolean): BackendManifest["ops"] =>
  flashAttention ? { ...NATIVE.ops, AttentionGradient: opDTypes.AttentionGradient } : NATIVE.ops;

const NOT_RUN = { unsupported: "graphs are compiled for a device that is not here, and not run" } as const;

/** Makes the manifest of a GPU that is only compiled for. All dtypes are declared native; nothing was probed. */
export const compilerManifest = ({ apiVersion }: Plugin, flashAttention: boolean): BackendManifest => ({
  ...NATIVE,
  ops: supportedOps(flashAttention),
  engine: { name: "xla-compiler", version: apiVersion },
  device: "cuda",
  profile: NOT_RUN,
  memory: NOT_RUN,
});

/**
 * Refuses flash attention on devices without cuDNN, and on several devices, because XLA does not shard the call and
 * each device would compute all rows.
 * @throws MP_INVALID_ARGUMENT
 */
export function expectFlashDevice(what: string, device: BackendManifest["device"], devices: number): void {
  if (device !== "cuda" || devices > 1)
    throw invalid(
      `${what}: flashAttention is for one device of cuda, got ${devices} of ${device}; leave it out`,
    );
}

/** Makes the manifest from the probe's findings. Every operator and every dtype is lowered. */
export function xlaManifest(
  client: Client,
  { flushed, f8 }: Findings,
  isDonating: boolean,
  flashAttention = false,
): BackendManifest {
  const subnormals = { ...exactNumerics.subnormals };
  for (const dtype of flushed) subnormals[dtype] = "flush";
  return Object.freeze({
    ...NATIVE,
    ops: supportedOps(flashAttention),
    engine: { name: "xla", version: `${client.platform} ${client.plugin.apiVersion}` },
    device: deviceOf(client),
    accumulate: { ...exactNumerics.accumulate, ...(f8 === undefined ? {} : { f8 }) },
    subnormals,
    profile: { unsupported: "the PJRT interface has no times of kernels" },
    memory: { unsupported: "XLA tells the memory of a program, not its peak" },
    nextState: "as-computed",
    failedRuns: isDonating ? "lose-state" : "keep-state",
    nonFiniteConvolution: { unsupported: "XLA multiplies the zeros of padding and of other groups" },
  });
}
