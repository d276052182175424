/** TensorFlow as a backend uses it, with a record of the last model that it loaded and of its runs. */
import { copyFileSync } from "node:fs";
import { join } from "node:path";
import type { TfjsNode } from "@mp/backend-tfjs";

type Binding = Readonly<Record<string, (...given: readonly unknown[]) => unknown>>;

/** One combination of nodes fed and fetched, `name:0` each. */
export interface ObservedRun {
  readonly fed: readonly string[];
  readonly fetched: readonly string[];
}

export interface Observed {
  readonly tf: TfjsNode;
  /** Each combination that ran since the last model was loaded, listed once. */
  runs(): readonly ObservedRun[];
}

/** Observes TensorFlow, and copies each model that it loads to `folder` as `saved_model.pb`. */
export function observeTensorFlow(tf: TfjsNode, folder: string): Observed {
  const engine = tf.findBackend("tensorflow") as { readonly binding: Binding };
  const { binding } = engine;
  const runs = new Map<string, ObservedRun>();
  const own: Binding = {
    loadSavedModel: (from, tags) => {
      copyFileSync(join(String(from), "saved_model.pb"), join(folder, "saved_model.pb"));
      runs.clear();
      return binding["loadSavedModel"]?.(from, tags);
    },
    runSavedModel: (id, tensors, fed, fetched) => {
      runs.set(`${fed} ${fetched}`, { fed: names(String(fed)), fetched: names(String(fetched)) });
      return binding["runSavedModel"]?.(id, tensors, fed, fetched);
    },
  };
  // Uses property descriptors, since the addon's members are read-only: an object that inherits them cannot assign
  // them.
  const observed: Binding = Object.create(binding, Object.getOwnPropertyDescriptors(own));
  return {
    tf: { version: tf.version, findBackend: () => ({ ...engine, binding: observed }) },
    runs: () => [...runs.values()],
  };
}

const names = (list: string): readonly string[] => list.split(",").filter((name) => name !== "");
