export { installCommand, locateInstalled } from "./locate.js";
export type { ReleaseName } from "./release.js";
