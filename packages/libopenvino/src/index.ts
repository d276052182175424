export { cacheFolder, LIBRARY_COMMAND, locateLibrary } from "./locate.js";
export { RELEASE } from "./release.js";
