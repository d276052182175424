/** Installs a plugin and its libraries from the Python package index into the cache. */
import { installPinned, type PinnedOptions, type Report } from "@mp/wheels";
import { releaseFolder } from "./locate.js";
import { PLUGIN_FILE, RELEASES, type ReleaseName, VERSION } from "./release.js";

/** Files of the wheels that compiling and computing need: libraries, tools of these names, and the licenses. */
const PLACES: readonly RegExp[] = [
  /^jax_plugins\/.*\.so$/,
  /^nvidia\/.*\/lib\/(?!libnvvm).*\.so(\.\d+)*$/,
  /^nvidia\/.*\/bin\/(ptxas|nvlink|fatbinary)$/,
  /^nvidia\/.*\/libdevice\//,
  /\.dist-info\/(.*\/)?licen[cs]e/i,
];

/** @throws MP_BACKEND_UNAVAILABLE, MP_INVALID_ARGUMENT, MP_PARSE, MP_IO */
export function install(name: ReleaseName, options: PinnedOptions, report: Report): Promise<void> {
  const { wheels, space } = RELEASES[name];
  return installPinned(
    {
      title: `XLA ${VERSION} (${name})`,
      wheels: wheels.map(([project, version, sha256]) => ({
        project,
        version,
        sha256,
        placeOf: (file) => (PLACES.some((place) => place.test(file)) ? file : undefined),
      })),
      command: "mp-libxla",
      space,
      elsewhere: "name the library of another plugin as the option plugin of xla()",
      folder: releaseFolder(name, options.environment),
      library: PLUGIN_FILE,
    },
    options,
    report,
  );
}
