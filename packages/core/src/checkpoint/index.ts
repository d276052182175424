export { type WriteOptions, writeFileAtomically } from "./atomic-file.js";
export { type LoadedTensors, type LoadOptions, loadTensors, saveTensors } from "./checkpoint-file.js";
