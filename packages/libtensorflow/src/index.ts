export {
  INSTALL_COMMAND,
  LIBRARY_COMMAND,
  locatePackage,
  packagesFor,
  type TfjsPackage,
} from "./locate-package.js";
