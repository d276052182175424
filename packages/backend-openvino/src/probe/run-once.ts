import type { HostTensor, ValueType } from "@mp/graph";
import type { NativeRuntime, NativeTensor } from "../native/index.js";

interface Once {
  readonly results: ReadonlyMap<string, HostTensor>;
  /** The library's names of the kernels that ran; empty without counters. */
  readonly kernels: readonly string[];
}

/** Compiles a model, runs it once and releases it. */
export async function runOnce(
  runtime: NativeRuntime,
  bytes: Uint8Array,
  inputs: ReadonlyMap<string, HostTensor>,
  outputs: ReadonlyMap<string, ValueType>,
  hasCounters = false,
): Promise<Once> {
  const held: NativeTensor[] = [];
  const hold = (tensor: NativeTensor): NativeTensor => {
    held.push(tensor);
    return tensor;
  };
  const model = await runtime.compile(bytes, { isKept: false, hasCounters });
  try {
    const request = runtime.request(model);
    try {
      for (const [name, value] of inputs) request.bind(name, hold(runtime.upload(value)));
      const results = [...outputs].map(([name, type]) => [name, hold(runtime.allocate(type))] as const);
      for (const [name, buffer] of results) request.bind(name, buffer);
      await request.runAsync();
      return {
        results: new Map(results.map(([name, buffer]) => [name, buffer.download()])),
        kernels: hasCounters ? request.times().map(({ kernel }) => kernel) : [],
      };
    } finally {
      request.release();
    }
  } finally {
    for (const tensor of held) tensor.release();
    model.release();
  }
}
