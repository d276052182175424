/** `@mp/hub`: models and data sets of the Hugging Face hub, in the cache that Python's huggingface_hub uses. */
export { type DownloadOptions, download, type Progress } from "./download.js";
export type { Pause } from "./retries.js";
