export { type WriteOptions, writeFileAtomically } from "./atomic-file.js";
export { type LoadOptions, loadFile, saveFile } from "./tensor-file.js";
