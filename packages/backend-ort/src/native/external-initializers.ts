/** Initializers whose data lies in tensors of ours: the engine takes only views of memory that it does not own. */
import { ARENA_ALLOCATOR, DEFAULT_MEMORY } from "./allocator.js";
import { ONNX_ELEMENT_TYPE } from "./element-type.js";
import type { OrtLibrary } from "./library.js";
import type { NativeTensor } from "./tensor.js";

/**
 * Adds them to session options under construction, and returns a function that frees the views once the session is
 * loaded. The tensors' memory must outlive the session.
 */
export function addExternalInitializers(
  library: OrtLibrary,
  sessionOptions: bigint,
  initializers: ReadonlyMap<string, NativeTensor>,
): () => void {
  const { functions, check, make } = library;
  const memory = make("initializers", (out) =>
    functions.CreateCpuMemoryInfo(ARENA_ALLOCATOR, DEFAULT_MEMORY, out),
  );
  const views: bigint[] = [];
  const free = (): void => {
    for (const view of views) functions.ReleaseValue(view);
    functions.ReleaseMemoryInfo(memory);
  };
  try {
    for (const { dtype, shape, address, byteLength } of initializers.values()) {
      const dimensions = BigInt64Array.from(shape, BigInt);
      const type = ONNX_ELEMENT_TYPE[dtype];
      views.push(
        make("initializers", (out) =>
          functions.CreateTensorWithDataAsOrtValue(
            memory,
            address,
            byteLength,
            dimensions,
            dimensions.length,
            type,
            out,
          ),
        ),
      );
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
