import { MpError } from "@mp/graph";
import type { TfjsBinding, TfjsNode } from "./tfjs-node.js";

/** A checked tfjs-node, with its addon and facts about the library that it loaded. */
export interface TensorFlow {
  readonly tf: TfjsNode;
  readonly binding: TfjsBinding;
  /** Version of the loaded libtensorflow, not of the npm package, such as "2.21.0". */
  readonly version: string;
  readonly device: "cpu" | "cuda";
}

const PACKAGES = "@tensorflow/tfjs-node or @tensorflow/tfjs-node-gpu";
const EXAMPLE = 'import * as tf from "@tensorflow/tfjs-node"; tfjs({ tf })';

/** The addon's functions that are called. A release that lacks one is too old or too new. */
const BINDING_FUNCTIONS: readonly (keyof TfjsBinding)[] = [
  "createTensor",
  "deleteTensor",
  "tensorDataSync",
  "loadSavedModel",
  "deleteSavedModel",
  "runSavedModel",
  "isUsingGpuDevice",
];

/**
 * Checks the members of the user's `tf`, not where it comes from.
 * @throws MP_INVALID_ARGUMENT if it is not tfjs-node, naming what it seems to be and what to import
 * @throws MP_SPEC_VERSION if it is tfjs-node without a required member
 */
export function expectTensorFlow(tf: unknown): TensorFlow {
  if (!isRecord(tf)) throw refusal(`got ${tf === null ? "null" : typeof tf}`);
  if (tf instanceof Promise) throw refusal("got a promise; await it");
  if (typeof tf["findBackend"] !== "function") throw refusal(describe(tf));
  const module = tf as unknown as TfjsNode;
  const backend: unknown = module.findBackend("tensorflow");
  const binding = isRecord(backend) ? backend["binding"] : undefined;
  if (!isRecord(binding)) {
    throw refusal(`got ${packageName(tf)} without its native engine, which computes in JavaScript alone`);
  }
  const missing = BINDING_FUNCTIONS.filter((name) => typeof binding[name] !== "function");
  if (missing.length > 0) {
    throw new MpError(
      "MP_SPEC_VERSION",
      `tfjs: ${packageName(tf)} has no ${missing.join(", ")}; use ${PACKAGES} of release 4.22 or later`,
      { details: { missing, versions: { ...module.version } } },
    );
  }
  const native = binding as unknown as TfjsBinding;
  return Object.freeze({
    tf: module,
    binding: native,
    version: native.TF_Version,
    device: native.isUsingGpuDevice() ? "cuda" : "cpu",
  });
}

function describe(tf: Readonly<Record<string, unknown>>): string {
  return isRecord(tf["default"]) && typeof tf["default"]["findBackend"] === "function"
    ? "got a module whose default export is tfjs; pass that"
    : `got an object with ${Object.keys(tf).slice(0, 5).join(", ") || "no members"}`;
}

/** Name and release of the imported package. `tf.version` has an entry for each package that it contains. */
function packageName(tf: Readonly<Record<string, unknown>>): string {
  const version = isRecord(tf["version"]) ? tf["version"] : {};
  const [name, release] = ["tfjs-node", "tfjs", "tfjs-core"]
    .map((key) => [key, version[key]] as const)
    .find(([, value]) => value !== undefined) ?? ["tfjs", undefined];
  return `@tensorflow/${name}${release === undefined ? "" : ` ${String(release)}`}`;
}

function refusal(given: string): MpError {
  return new MpError("MP_INVALID_ARGUMENT", `tfjs: tf should be ${PACKAGES}, ${given}: ${EXAMPLE}`, {
    details: { given },
  });
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return (typeof value === "object" || typeof value === "function") && value !== null;
}
