import { type Backend, MpError } from "@mp/graph";
import { checks, readOptions, withDefault } from "@mp/graph/internal";
import { xlaBackend } from "./backend.js";
import { DEVICE_FLAGS, deviceOf } from "./flags.js";
import { locatePlugin, openClient } from "./library.js";
import { expectFlashDevice, xlaManifest } from "./manifest.js";
import { probeOnce } from "./probe.js";
import { ProgramCache } from "./program-cache.js";

export interface XlaOptions {
  /**
   * The device that the plugin must be for. Default: the device of the given plugin, or `cuda` if none is given. `cpu`
   * is for tests: ONNX Runtime and OpenVINO are faster there.
   */
  readonly device?: "cpu" | "cuda";
  /** Absolute path of a PJRT plugin. Default: MP_XLA_PLUGIN, else the plugin that `mp-libxla` installed. */
  readonly plugin?: string;
  /**
   * Whether a run overwrites the state that it replaces, so that only one copy exists. If such a run fails
   * halfway, for example for lack of memory, the state is lost. Default true.
   */
  readonly donate?: boolean;
  /**
   * How many devices run each program together. The rows of a batch are sharded over the devices, so the number of rows
   * must be a multiple of `devices`; each device holds the whole state. Default 1.
   */
  readonly devices?: number;
  /**
   * Whether f32 products may round their operands to TF32, which has 10 fraction bits, and products of 8-bit floats may
   * add in fewer bits than f32 has. Default false.
   */
  readonly tf32?: boolean;
  /**
   * Whether attention on half dtypes calls cuDNN's flash attention, which rounds the probabilities to the
   * half dtype and keeps no scores in memory. Only on `cuda`; so far compiled, never run. Default false.
   */
  readonly flashAttention?: boolean;
  /** A folder in which compiled programs are kept for later processes; created if missing. Default: none. */
  readonly cache?: string;
}

const { count, oneOf, optional, path, text, truth } = checks;

const OPTIONS = {
  device: optional(oneOf("cpu", "cuda")),
  plugin: optional(text),
  donate: withDefault(true, truth),
  devices: withDefault(1, count),
  tf32: withDefault(false, truth),
  flashAttention: withDefault(false, truth),
  cache: optional(path),
};

/**
 * Opens XLA through a PJRT plugin. Every step is compiled as one program, and its state stays on the device.
 * @example
 * ```ts
 * const backend = await xla({ device: "cuda" });
 * ```
 * @throws MP_INVALID_ARGUMENT for an unknown option
 * @throws MP_BACKEND_UNAVAILABLE for a plugin that is missing, is for another device or computes wrong
 *   results, and for a missing device; names the remedy
 * @throws MP_IO for a `cache` that cannot be created or that others can write
 */
export async function xla(options: XlaOptions = {}): Promise<Backend> {
  const read = readOptions("xla", options, OPTIONS, { example: '{ device: "cuda" }' });
  const { device, plugin, donate, devices, tf32, flashAttention, cache } = read;
  const file = locatePlugin(plugin, device ?? "cuda", process.env);
  const client = await openClient(file, devices);
  try {
    const found = deviceOf(client);
    if (device !== undefined && found !== device)
      throw unusable(file, `is for ${client.platform}, and the device ${device} was asked for`);
    if (flashAttention) expectFlashDevice("xla", found, devices);
    const engine = { client, flags: DEVICE_FLAGS[found], isDonating: donate, tf32, flashAttention };
    const findings = await probeOnce(engine);
    const [fault] = findings.faults;
    if (fault !== undefined) throw unusable(file, `(${client.platform}) ${fault}`);
    return xlaBackend(xlaManifest(client, findings, donate, flashAttention), {
      ...engine,
      flags: findings.flags,
      cache: cache === undefined ? undefined : new ProgramCache(cache, client),
    });
  } catch (error) {
    client.close();
    throw error;
  }
}

const unusable = (path: string, problem: string): MpError =>
  new MpError("MP_BACKEND_UNAVAILABLE", `xla: ${path} ${problem}; name another plugin`, {
    details: { file: path },
  });
