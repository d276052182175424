export { packedType, relabeled, relabeledAs } from "./packed.js";
export { splitWords } from "./split-words.js";
export { wordLowerings } from "./word-lowerings.js";
