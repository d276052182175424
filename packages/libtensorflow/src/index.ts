export {
  INSTALL_COMMAND,
  LIBRARY_COMMAND,
  locatePackage,
  packageAt,
  packagesFor,
  type TfjsPackage,
} from "./locate-package.js";
