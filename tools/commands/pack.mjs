import { mkdirSync } from "node:fs";
import { relative, resolve } from "node:path";
import { fail } from "../workspace/fail.mjs";
import { packAll } from "../workspace/tarballs.mjs";

/** Packs every public package into a folder. @param {readonly string[]} args @param {() => void} install */
export function run([folder, ...rest], install) {
  if (folder === undefined || folder.startsWith("-") || rest.length > 0)
    return fail("pack: takes the folder that the tarballs go to, as in npm run pack -- tarballs", 2);
  install();
  mkdirSync(resolve(folder), { recursive: true });
  console.log("Building the public packages: about 40 s of processor time where nothing is built");
  for (const [name, path] of packAll(resolve(folder), true))
    console.log(`${name} ${relative(process.cwd(), path)}`);
  // Without ./ npm would take the path for a GitHub repository.
  console.log(`\nONNXRUNTIME_NODE_INSTALL=skip npm install ${resolve(folder)}/*.tgz onnxruntime-node`);
}
