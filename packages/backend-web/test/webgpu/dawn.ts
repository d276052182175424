/**
 * WebGPU in Node, from npm's package `webgpu`, where onnxruntime-web looks for it. The device is what Vulkan finds;
 * software Vulkan has f16, which no browser's software device has.
 */
import { setFlagsFromString } from "node:v8";
import { create, globals } from "webgpu";

// The engine's 26 MB of code would compile for a minute, and run little faster beside a software device.
setFlagsFromString("--liftoff-only");

/** Puts `navigator.gpu` and WebGPU's classes where a browser has them. */
export function installWebgpu(): void {
  Object.assign(globalThis, globals);
  const gpu = create(["backend=vulkan"]);
  Object.defineProperty(globalThis, "navigator", {
    value: { gpu, hardwareConcurrency: 1 },
    configurable: true,
  });
  const { prototype } = GPUQueue;
  const writeBuffer = prototype.writeBuffer as (...args: readonly unknown[]) => undefined;
  // The engine passes views of its memory, which is shared; this WebGPU takes no shared memory.
  prototype.writeBuffer = function (
    this: GPUQueue,
    buffer: GPUBuffer,
    at: number,
    data: unknown,
    ...part: number[]
  ) {
    return writeBuffer.call(this, buffer, at, unshared(data), ...part);
  } as typeof prototype.writeBuffer;
}

/** A copy of shared memory is not shared. */
const unshared = (data: unknown): unknown =>
  data instanceof Uint8Array && !(data.buffer instanceof ArrayBuffer) ? data.slice() : data;
