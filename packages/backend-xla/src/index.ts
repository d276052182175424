import { type Backend, MpError } from "@mp/graph";
import { checks, readOptions, withDefault } from "@mp/graph/internal";
import { xlaBackend } from "./backend.js";
import { DEVICE_FLAGS } from "./flags.js";
import { type Device, locatePlugin, openClient } from "./library.js";
import { deviceOf, xlaManifest } from "./manifest.js";
import { probeOnce } from "./probe.js";

export interface XlaOptions {
  /**
   * The device that the plugin must be for. Default: that of the plugin that is named, otherwise `cuda`. `cpu` is for
   * tests: ONNX Runtime and OpenVINO are faster there.
   */
  readonly device?: Device;
  /** An absolute path to a PJRT plugin's library. Default: MP_XLA_PLUGIN. */
  readonly plugin?: string;
  /**
   * Whether a run overwrites the state that it replaces, so that there is one copy of it. A run that then fails in the
   * middle, which a lack of memory may cause, loses the state. Default true.
   */
  readonly donate?: boolean;
  /** Whether products of float32 may round their operands to TF32's 10 bits. Default false. */
  readonly tf32?: boolean;
}

const { oneOf, optional, text, truth } = checks;

const OPTIONS = {
  device: optional(oneOf("cpu", "cuda")),
  plugin: optional(text),
  donate: withDefault(true, truth),
  tf32: withDefault(false, truth),
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
 */
export async function xla(options: XlaOptions = {}): Promise<Backend> {
  const { device, plugin, donate, tf32 } = readOptions("xla", options, OPTIONS, {
    example: '{ device: "cuda" }',
  });
  const path = locatePlugin(plugin, device ?? "cuda", process.env);
  const client = await openClient(path);
  try {
    const found = deviceOf(client);
    if (device !== undefined && found !== device)
      throw unusable(path, `is for ${client.platform}, and the device ${device} was asked for`);
    const engine = { client, flags: DEVICE_FLAGS[found], isDonating: donate, tf32 };
    const findings = await probeOnce(engine);
    const [fault] = findings.faults;
    if (fault !== undefined) throw unusable(path, `(${client.platform}) ${fault}`);
    return xlaBackend(xlaManifest(client, findings), { ...engine, flags: findings.flags });
  } catch (error) {
    client.close();
    throw error;
  }
}

const unusable = (path: string, problem: string): MpError =>
  new MpError("MP_BACKEND_UNAVAILABLE", `xla: ${path} ${problem}; name another plugin`, {
    details: { file: path },
  });
