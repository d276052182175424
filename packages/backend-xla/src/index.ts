import { type Backend, MpError } from "@mp/graph";
import { checks, readOptions, withDefault } from "@mp/graph/internal";
import { xlaBackend } from "./backend.js";
import { DEVICE_FLAGS, deviceOf } from "./flags.js";
import { type Device, locatePlugin, openClient } from "./library.js";
import { expectFlashDevice, xlaManifest } from "./manifest.js";
import { probeOnce } from "./probe.js";
import { ProgramCache } from "./program-cache.js";

export interface XlaOptions {
  /**
   * The device that the plugin must be for. Default: that of the plugin that is named, otherwise `cuda`. `cpu` is for
   * tests: ONNX Runtime and OpenVINO are faster there.
   */
  readonly device?: Device;
  /** An absolute path to a PJRT plugin's library. Default: MP_XLA_PLUGIN, else the one that `mp-libxla` installed. */
  readonly plugin?: string;
  /**
   * Whether a run overwrites the state that it replaces, so that there is one copy of it. A run that then fails in the
   * middle, which a lack of memory may cause, loses the state. Default true.
   */
  readonly donate?: boolean;
  /**
   * How many devices run each program together. The rows of a batch are divided among them, and must be a multiple of
   * their number; each has the whole state. Default 1.
   */
  readonly devices?: number;
  /** Whether products of float32 may round their operands to TF32's 10 bits. Default false. */
  readonly tf32?: boolean;
  /**
   * Whether attention of halves calls cuDNN's flash attention, which rounds the probabilities to the half and keeps no
   * scores in memory. Only on `cuda`; compiled, not run. Default false.
   */
  readonly flashAttention?: boolean;
  /** A folder that keeps compiled programs for later processes; it is created if missing. Default: none are kept. */
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
 * Opens XLA through a PJRT plugin: every step is compiled whole, and its state stays on the device.
 * @example
 * ```ts
 * const backend = await xla({ device: "cuda" });
 * ```
 * @throws MP_INVALID_ARGUMENT for an unknown option
 * @throws MP_BACKEND_UNAVAILABLE for a plugin that is missing, for another device or wrong, or a device that is missing,
 *   naming the remedy
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
