import { isAbsolute } from "node:path";
import { MpError } from "@mp/graph";
import { invalid } from "@mp/graph/internal";
import { installCommand, locateInstalled } from "@mp/libxla";
import { Client, loadPlugin, type NamedOptions, unavailable } from "./pjrt/index.js";

/** The devices that users name. */
export type Device = "cpu" | "cuda";

/** What a user types to get the plugin of a GPU. */
const INSTALL_COMMAND: string = installCommand("cuda13");

/**
 * The path of the plugin's library: the given one, the value of MP_XLA_PLUGIN, or for CUDA the one that is installed.
 * @throws MP_INVALID_ARGUMENT for a path that is not absolute; MP_BACKEND_UNAVAILABLE if there is none
 */
export function locatePlugin(given: string | undefined, device: Device, env: NodeJS.ProcessEnv): string {
  const named = given ?? (env["MP_XLA_PLUGIN"] || undefined);
  const path = named ?? (device === "cuda" ? locateInstalled("cuda13", env) : undefined);
  if (path === undefined) {
    const remedy =
      device === "cuda"
        ? `install it with: ${INSTALL_COMMAND}`
        : "there is none to install: name the library of one as the option plugin";
    throw new MpError("MP_BACKEND_UNAVAILABLE", `xla: no PJRT plugin for ${device}; ${remedy}`, {
      details: { device, ...(device === "cuda" ? { install: INSTALL_COMMAND } : {}) },
    });
  }
  if (!isAbsolute(path)) throw invalid(`xla: plugin must be an absolute path, got ${path}`);
  return path;
}

/**
 * The path of a plugin that compiles for NVIDIA's GPUs on any machine: the given one, or an installed one.
 * @throws MP_BACKEND_UNAVAILABLE if there is none
 */
export function locateCompiler(given: string | undefined, env: NodeJS.ProcessEnv): string {
  const path = given ?? locateInstalled("cuda13-compiler", env) ?? locateInstalled("cuda13", env);
  if (path !== undefined) return path;
  const install = installCommand("cuda13-compiler");
  const message = `xla: no compiler for CUDA; install it with: ${install}`;
  throw new MpError("MP_BACKEND_UNAVAILABLE", message, { details: { install } });
}

/**
 * Options of clients, of which a plugin refuses those that it does not know: CUDA's, which would otherwise take three
 * quarters of the card's memory at once, and the processor's, which is as many devices as are wanted.
 */
const clientOptions = (devices: number): readonly NamedOptions[] => [
  { preallocate: false },
  { cpu_device_count: devices },
  {},
];

/** The number of PJRT_Error_Code for an option that the plugin does not know. */
const INVALID_ARGUMENT = 3;

/** @throws MP_BACKEND_UNAVAILABLE if the machine has not as many devices for the plugin */
export async function openClient(path: string, devices: number): Promise<Client> {
  const plugin = loadPlugin(path);
  let failure: unknown;
  for (const options of clientOptions(devices)) {
    try {
      const client = await Client.open(plugin, options, devices);
      if (client.deviceCount === devices) return client;
      client.close();
      throw new Error(`there are ${client.deviceCount}`);
    } catch (error) {
      failure = error;
      if (!MpError.is(error) || error.details["status"] !== INVALID_ARGUMENT) break;
    }
  }
  const said = failure instanceof Error ? failure.message : String(failure);
  const wanted = devices === 1 ? "device" : `${devices} devices`;
  throw unavailable(path, `finds no ${wanted} (${said})`, "check the device and its driver", failure);
}
