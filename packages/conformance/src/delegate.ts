import type { Backend, State } from "@mp/graph";

/** A backend that forwards to another, except for the replaced members. */
export function delegate(backend: Backend, replaced: Partial<Backend>): Backend {
  return {
    name: backend.name,
    specVersion: backend.specVersion,
    manifest: backend.manifest,
    compile: (graph, options) => backend.compile(graph, options),
    createState: (values, options) => backend.createState(values, options),
    upload: (tensor) => backend.upload(tensor),
    download: (handle) => backend.download(handle),
    stats: () => backend.stats(),
    dispose: () => backend.dispose(),
    ...(backend.adopt === undefined ? {} : { adopt: (value: object) => backend.adopt?.(value) }),
    ...replaced,
  };
}

/** Returns the backend with a list of the states that are created on it. */
export function observingStates(backend: Backend): {
  readonly backend: Backend;
  readonly states: readonly State[];
} {
  const states: State[] = [];
  const createState: Backend["createState"] = async (values, options) => {
    const state = await backend.createState(values, options);
    states.push(state);
    return state;
  };
  return { backend: delegate(backend, { createState }), states };
}
