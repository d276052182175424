/** Gives the engine initializers as views of this package's tensors. The engine does not own their memory. */
import { ARENA_ALLOCATOR, DEFAULT_MEMORY } from "./allocator.js";
import { ONNX_ELEMENT_TYPE } from "./element-type.js";
import type { OrtLibrary } from "./library.js";
import type { NativeTensor } from "./tensor.js";
import { tensorOver } from "./tensor-over.js";

/**
 * Adds initializers to session options. The tensors must outlive the session.
 * @returns a function that frees the views, to call once the session is loaded
 */
export function addExternalInitializers(
  library: OrtLibrary,
  sessionOptions: bigint,
  initializers: ReadonlyMap<string, NativeTensor>,
): () => void {
  const { functions, check, make } = library;
  const info = make("initializers", (out) =>
    functions.CreateCpuMemoryInfo(ARENA_ALLOCATOR, DEFAULT_MEMORY, out),
  );
  const views: bigint[] = [];
  const free = (): void => {
    for (const view of views) functions.ReleaseValue(view);
    functions.ReleaseMemoryInfo(info);
  };
  try {
    for (const { dtype, shape, address: data, byteLength } of initializers.values()) {
      const layout = { elementType: ONNX_ELEMENT_TYPE[dtype], dimensions: shape };
      views.push(tensorOver(library, "initializers", { info, data, byteLength }, layout));
    }
    const names = [...initializers.keys()];
    check(
      functions.AddExternalInitializers(sessionOptions, names, BigUint64Array.from(views), views.length),
      "initializers",
    );
    return free;
  } catch (error) {
    free();
    throw error;
  }
}
