import { type BackendManifest, DTYPES, opDTypes } from "@mp/graph";
import { exactNumerics, libraryTolerance, opSupport } from "@mp/graph/backend";
import { invalid } from "@mp/graph/internal";
import { deviceOf } from "./flags.js";
import type { Client } from "./pjrt/index.js";
import type { Findings } from "./probe.js";

/** What every program of XLA is: all dtypes and operators, computed natively and rounded as IEEE 754 says. */
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

/** With flash attention, its gradient is a node of the graph. */
export const supportedOps = (flashAttention: boolean): BackendManifest["ops"] =>
  flashAttention ? { ...NATIVE.ops, AttentionGradient: opDTypes.AttentionGradient } : NATIVE.ops;

/**
 * Refuses flash attention on devices that do not call cuDNN. Several would each compute all rows, since XLA does not
 * divide the call.
 * @throws MP_INVALID_ARGUMENT
 */
export function expectFlashDevice(what: string, device: BackendManifest["device"], devices: number): void {
  if (device !== "cuda" || devices > 1)
    throw invalid(
      `${what}: flashAttention is for one device of cuda, got ${devices} of ${device}; leave it out`,
    );
}

/** Makes the manifest from the plugin's answers. Every operator and every dtype is lowered. */
export function xlaManifest(
  client: Client,
  { flushed }: Findings,
  isDonating: boolean,
  flashAttention = false,
): BackendManifest {
  const subnormals = { ...exactNumerics.subnormals };
  for (const dtype of flushed) subnormals[dtype] = "flush";
  return Object.freeze({
    ...NATIVE,
    ops: supportedOps(flashAttention),
    engine: { name: "xla", version: describeVersion(client) },
    device: deviceOf(client),
    subnormals,
    profile: { unsupported: "the PJRT interface has no times of kernels" },
    memory: { unsupported: "XLA tells the memory of a program, not its peak" },
    nextState: "as-computed",
    failedRuns: isDonating ? "lose-state" : "keep-state",
    nonFiniteConvolution: { unsupported: "XLA multiplies the zeros of padding and of other groups" },
  });
}

/** `cpu 0.106, xla 9`: the platform, the version of the interface, what the plugin says of XLA. */
function describeVersion({ platform, platformVersion, plugin }: Client): string {
  const { xla_version: version } = plugin.attributes;
  const said = version ?? platformVersion.split("\n", 1)[0];
  return `${platform} ${plugin.apiVersion}${said ? `, ${said}` : ""}`;
}
