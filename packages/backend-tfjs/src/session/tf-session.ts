import type { NodeInit } from "../graph/node-def.js";
import type { TfjsBinding } from "../load/index.js";
import { TAG, withSavedModel } from "../saved-model/write-saved-model.js";
import { engineFailure } from "./engine-failure.js";

/** Names to feed and to fetch, in order. TensorFlow prepares each combination of names only once. */
export interface Signature {
  readonly fed: readonly string[];
  readonly fetched: readonly string[];
}

/**
 * One TensorFlow session with its graph and variables. It calls the addon's own functions, as tfjs-node's
 * `predict` does: any node can be fed and fetched, and no tensor passes through tfjs.
 */
export class TfSession {
  readonly #binding: TfjsBinding;
  #id: number | undefined;

  private constructor(binding: TfjsBinding, id: number) {
    this.#binding = binding;
    this.#id = id;
  }

  /** @throws MP_BACKEND_FAILED with TensorFlow's error for the graph */
  static async load(binding: TfjsBinding, nodes: readonly NodeInit[]): Promise<TfSession> {
    const id = await withSavedModel(nodes, (folder) => {
      try {
        return binding.loadSavedModel(folder, TAG);
      } catch (error) {
        throw engineFailure("TensorFlow refuses the graph", error);
      }
    });
    return new TfSession(binding, id);
  }

  /**
   * Runs the session. @returns ids of the result tensors, which the caller must delete @throws
   * MP_BACKEND_FAILED, MP_OUT_OF_MEMORY
   */
  run({ fed, fetched }: Signature, tensorIds: readonly number[]): readonly number[] {
    if (this.#id === undefined) throw new Error("internal: the session has been disposed");
    const names = (list: readonly string[]): string => list.map(withPort).join(",");
    try {
      const results = this.#binding.runSavedModel(this.#id, tensorIds, names(fed), names(fetched));
      return results.map(({ id }) => id);
    } catch (error) {
      throw engineFailure("the run failed", error);
    }
  }

  dispose(): void {
    if (this.#id === undefined) return;
    this.#binding.deleteSavedModel(this.#id);
    this.#id = undefined;
  }
}

/** Adds `:0` to a name without a port, because the addon requires one. */
function withPort(name: string): string {
  return name.includes(":") ? name : `${name}:0`;
}
