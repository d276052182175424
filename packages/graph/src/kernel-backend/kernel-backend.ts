import { openBackend } from "../backend/define-backend.js";
import type { StorageFunctions } from "../backend/hooks.js";
import { deriveManifest, type KernelManifest } from "../backend/manifest.js";
import { Storages } from "../backend/storages.js";
import type { Backend } from "../contract/backend.js";
import type { HostTensor } from "../host/host-tensor.js";
import { checkKernels } from "./check-kernels.js";
import type { Engine } from "./engine.js";
import type { KernelTable } from "./kernel.js";
import { planGraph } from "./plan.js";
import { KernelProgram } from "./program.js";

export interface KernelBackendOptions<T> extends StorageFunctions<T> {
  readonly name: string;
  readonly manifest: KernelManifest;
  /**
   * The backend's kernels. Without a kernel, `Identity` and `Barrier` pass their operand on, and the value of a
   * `Constant` is uploaded once per executable. A `Constant` kernel is called at compilation.
   */
  readonly kernels: KernelTable<T>;
  /** Implements `Backend.adopt`: returns a host view of the author's tensor, undefined for other values. */
  readonly adopt?: (value: object) => HostTensor | undefined;
  /** Called once, after everything the backend held has been released. */
  readonly close?: () => void | Promise<void>;
}

/**
 * Makes a backend from a table of kernels over a storage type that the author chooses. Beyond what `defineBackend`
 * does, it executes nodes in order, releases storages after their last use, and derives the manifest. A wrong result
 * of a kernel, `upload` or `download` throws MP_BACKEND_FAILED with the function's name.
 * @throws MP_INVALID_ARGUMENT for rows of unknown operators or dtypes
 */
export function kernelBackend<T>(options: KernelBackendOptions<T>): Backend {
  checkKernels(options);
  const { name } = options;
  const kernels: KernelTable<T> = {
    Identity: ([x]) => (x === undefined ? [] : [x.data]),
    Barrier: ([x]) => (x === undefined ? [] : [x.data]),
    ...options.kernels,
  };
  const manifest = {
    ...deriveManifest(options.manifest, (op) => op === "Constant" || kernels[op] !== undefined),
    adopt:
      options.adopt === undefined ? { unsupported: "it takes no tensors of a library's" } : (true as const),
  };
  const storages = new Storages<T>(name, manifest, options);
  const engine: Engine<T> = { kernels, storages };
  return openBackend<T, never>(
    {
      name,
      manifest,
      results: "counted",
      compile: (graph) => KernelProgram.create(engine, planGraph(graph)),
      close: () => options.close?.(),
      ...(options.adopt === undefined
        ? {}
        : { adopt: (value: object): HostTensor | undefined => options.adopt?.(value) }),
    },
    storages,
  );
}
