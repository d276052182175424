import type { AnyNode, Backend, BackendManifest } from "@mp/graph";
import { defineBackend } from "@mp/graph/backend";
import { adoptTensor, isTfTensor } from "./adopt.js";
import type { TensorFlow } from "./load/index.js";
import { ProgramSet } from "./session/program-set.js";
import { SessionProgram } from "./session/session-program.js";
import { type Uploaded, upload } from "./session/upload.js";

export interface Engine {
  readonly tensorFlow: TensorFlow;
  readonly manifest: BackendManifest;
  /** Whether a node is computed in f32 because the engine has no correct kernel for its half dtype. */
  readonly isWidened: (node: AnyNode) => boolean;
}

/** Presents TensorFlow as a backend: graphs become SavedModels, and a state is the variables of one session. */
export function tfjsBackend({ tensorFlow: { binding }, manifest, isWidened }: Engine): Backend {
  return defineBackend<Uploaded, ProgramSet>({
    name: "tfjs",
    manifest,
    upload: (tensor) => upload(binding, tensor),
    download: (tensor) => tensor.read(),
    release: ({ wire }) => wire?.release(),
    compile: (graph, place) => new SessionProgram(graph, place, { binding, isWidened }),
    states: {
      create: (values) => new ProgramSet(binding, new Map(Object.entries(values))),
      read: (programs, names) => Object.fromEntries(programs.read(names)),
      write: (programs, values) => programs.write(Object.entries(values)),
      release: (programs) => programs.dispose(),
      bytes: (programs) => programs.bytes,
    },
    adopt: (value) => (isTfTensor(value) ? adoptTensor(value) : undefined),
  });
}
