/**
 * Loaded by `--import` before a program. Appends lines to the file of `MP_STEP_HASHES`: for each training step that a
 * trainer compiles, the hash of its graph; then those of the models that an engine gets for it.
 */
import { appendFileSync } from "node:fs";
import fs from "node:fs/promises";
import { register, syncBuiltinESMExports } from "node:module";
import { basename } from "node:path";
import { graphHash, shortHash } from "./graph-hash.mjs";

const file = process.env["MP_STEP_HASHES"] ?? "";
// Before its first step a program compiles probes of the engine.
let isTraining = false;

/** @param {string} line */
const note = (line) => appendFileSync(file, `${line}\n`);

/** @param {Uint8Array} bytes */
function noteModel(bytes) {
  if (isTraining) note(`model ${shortHash(bytes)}`);
}

/**
 * @param {any} backend
 * @returns {any} the backend, which notes the steps that it compiles
 */
function observe(backend) {
  if (typeof backend?.compile !== "function") return backend;
  return new Proxy(backend, {
    get(target, key) {
      const value = Reflect.get(target, key, target);
      if (typeof value !== "function") return value;
      if (key !== "compile") return value.bind(target);
      return (/** @type {any} */ graph, /** @type {any} */ options) => {
        if (options?.applied !== undefined) {
          isTraining = true;
          note(`${backend.name} ${graphHash(graph)}`);
        }
        return value.call(target, graph, options);
      };
    },
  });
}

/**
 * Wrappers that replace functions, by module and name.
 * @type {Readonly<Record<string, Readonly<Record<string, (real: any) => any>>>>}
 */
const wrappers = {
  "@mp/core": {
    trainer: (real) => (/** @type {any} */ options) =>
      real({ ...options, backend: observe(options.backend) }),
  },
  "@mp/onnx-lowering": {
    lowerGraph:
      (real) =>
      (/** @type {any[]} */ ...given) => {
        const result = real(...given);
        noteModel(result.model);
        return result;
      },
  },
};
Object.assign(globalThis, { [Symbol.for("mp.steps")]: wrappers });
const names = Object.entries(wrappers).map(([module, own]) => [module, Object.keys(own)]);
register("./wrap.mjs", { parentURL: import.meta.url, data: names });

// TensorFlow reads its graph from a file.
const { writeFile } = fs;
fs.writeFile = /** @type {typeof fs.writeFile} */ (
  (path, data, ...rest) => {
    if (basename(String(path)) === "saved_model.pb" && data instanceof Uint8Array) noteModel(data);
    return writeFile(path, data, ...rest);
  }
);
syncBuiltinESMExports();
