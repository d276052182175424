import { mkdirSync } from "node:fs";
import { relative, resolve } from "node:path";
import { fail } from "../workspace/fail.mjs";
import { packAll } from "../workspace/tarballs.mjs";

/**
 * @param {readonly string[]} args
 * @returns {string} the folder
 */
export function packFolder(args) {
  const [folder, ...rest] = args;
  if (folder === undefined || folder.startsWith("-") || rest.length > 0) {
    return fail("pack: takes the folder that the tarballs go to, as in npm run pack -- tarballs", 2);
  }
  return resolve(folder);
}

/** Packs every public package into that folder. @param {string} folder */
export function runPack(folder) {
  mkdirSync(folder, { recursive: true });
  console.log("Building the public packages, declarations included; the first time takes a minute or two");
  packAll(folder, (name, path) => console.log(`${name} ${relative(process.cwd(), path)}`));
  // Without ./ npm would take the path for a GitHub repository.
  console.log(`\nONNXRUNTIME_NODE_INSTALL=skip npm install ${folder}/*.tgz onnxruntime-node`);
}
