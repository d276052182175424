import type { TfjsBinding, TfjsNode } from "../../src/load/index.js";

/** The addon, with a record of what it holds. */
export interface Counted {
  readonly tf: TfjsNode;
  /** Numbers of tensors that were not deleted. */
  readonly tensors: Set<number>;
  readonly sessions: Set<number>;
  /** Folders that sessions were loaded from. */
  readonly folders: string[];
}

/** The same tfjs-node, with an addon that records what is created and deleted. */
export function counting(tf: TfjsNode): Counted {
  const { binding } = tf.findBackend("tensorflow") as { readonly binding: TfjsBinding };
  const tensors = new Set<number>();
  const sessions = new Set<number>();
  const folders: string[] = [];
  const counted: TfjsBinding = {
    TF_Version: binding.TF_Version,
    TF_FLOAT: binding.TF_FLOAT,
    TF_INT32: binding.TF_INT32,
    TF_INT64: binding.TF_INT64,
    TF_BOOL: binding.TF_BOOL,
    isUsingGpuDevice: () => binding.isUsingGpuDevice(),
    tensorDataSync: (id) => binding.tensorDataSync(id),
    createTensor: (...given) => {
      const id = binding.createTensor(...given);
      tensors.add(id);
      return id;
    },
    deleteTensor: (id) => {
      binding.deleteTensor(id);
      tensors.delete(id);
    },
    loadSavedModel: (folder, tags) => {
      folders.push(folder);
      const id = binding.loadSavedModel(folder, tags);
      sessions.add(id);
      return id;
    },
    deleteSavedModel: (id) => {
      binding.deleteSavedModel(id);
      sessions.delete(id);
    },
    runSavedModel: (...given) => {
      const results = binding.runSavedModel(...given);
      for (const { id } of results) tensors.add(id);
      return results;
    },
  };
  const backend = { binding: counted };
  return { tf: { ...tf, findBackend: () => backend }, tensors, sessions, folders };
}
