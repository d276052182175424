// `@mp/cli/corpus`: the text that apps read without files.

export { defaultCorpora, defaultCorpus, type NamedCorpus } from "./corpus.js";
