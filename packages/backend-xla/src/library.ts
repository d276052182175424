import { isAbsolute } from "node:path";
import { MpError } from "@mp/graph";
import { invalid } from "@mp/graph/internal";
import { installCommand, locateInstalled, type ReleaseName } from "@mp/libxla";
import { Client, loadPlugin, type NamedOptions, unavailable } from "./pjrt/index.js";

/**
 * Returns the path of the plugin: the given one, MP_XLA_PLUGIN, or for CUDA the installed plugin.
 * @throws MP_INVALID_ARGUMENT for a path that is not absolute; MP_BACKEND_UNAVAILABLE if there is none
 */
export function locatePlugin(
  given: string | undefined,
  device: "cpu" | "cuda",
  env: NodeJS.ProcessEnv,
): string {
  const named = given ?? (env["MP_XLA_PLUGIN"] || undefined);
  const path = named ?? (device === "cuda" ? locateInstalled("cuda13", env) : undefined);
  if (path === undefined)
    throw missing(`PJRT plugin for ${device}`, device === "cuda" ? "cuda13" : undefined);
  if (!isAbsolute(path)) throw invalid(`xla: plugin must be an absolute path, got ${path}`);
  return path;
}

/**
 * Returns the path of a plugin that compiles for NVIDIA GPUs on any machine: the given or an installed one.
 * @throws MP_BACKEND_UNAVAILABLE if there is none
 */
export function locateCompiler(given: string | undefined, env: NodeJS.ProcessEnv): string {
  const path = given ?? locateInstalled("cuda13-compiler", env) ?? locateInstalled("cuda13", env);
  if (path === undefined) throw missing("compiler for CUDA", "cuda13-compiler");
  return path;
}

/** @param release the one to install; undefined if there is none */
function missing(what: string, release: ReleaseName | undefined): MpError {
  const install = release && installCommand(release);
  const remedy = install
    ? `install it with: ${install}`
    : "there is none to install: name the library of one as the option plugin";
  const details = install ? { install } : {};
  return new MpError("MP_BACKEND_UNAVAILABLE", `xla: no ${what}; ${remedy}`, { details });
}

/**
 * Sets of client options to try in this order, because a plugin refuses unknown options. The first set is for CUDA,
 * which otherwise reserves three quarters of the GPU's memory; the second sets the number of devices on a CPU.
 */
const clientOptions = (devices: number): readonly NamedOptions[] => [
  { preallocate: false },
  { cpu_device_count: devices },
  {},
];

/** PJRT_Error_Code of a refused option. */
const INVALID_ARGUMENT = 3;

/** Opens a client on exactly `devices` devices. @throws MP_BACKEND_UNAVAILABLE if the plugin cannot */
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
