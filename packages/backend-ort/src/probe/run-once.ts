import type { HostTensor, ValueType } from "@mp/core";
import type { NativeRuntime } from "../native/index.js";

/** Loads a model without inputs, runs it once and gives the outputs of those names and types. */
export async function runOnce(
  runtime: NativeRuntime,
  model: Uint8Array,
  outputs: ReadonlyMap<string, ValueType>,
  isPure: boolean,
): Promise<ReadonlyMap<string, HostTensor>> {
  // Otherwise what the device lacks would run on the processor, and look as if it were there.
  const config = isPure && runtime.device === "cuda" ? { "session.disable_cpu_ep_fallback": "1" } : undefined;
  const session = await runtime.createSession(model, config === undefined ? {} : { config });
  const buffers = new Map([...outputs].map(([name, type]) => [name, runtime.allocate(type)]));
  try {
    const binding = runtime.bind(session);
    try {
      for (const [name, buffer] of buffers) binding.bindOutput(name, buffer);
      binding.runSync();
      return new Map([...buffers].map(([name, buffer]) => [name, buffer.read()]));
    } finally {
      binding.release();
    }
  } finally {
    for (const buffer of buffers.values()) buffer.release();
    session.release();
  }
}
