import type { Finding } from "../machine/finding.js";
import { ENGINES, type EngineName } from "./engine-table.js";
import { entryUrl, findPackage, type InstalledPackage } from "./installed-package.js";

export interface FoundEngine {
  readonly name: EngineName;
  readonly backend: InstalledPackage | undefined;
  readonly libraries: readonly InstalledPackage[];
}

/** Finds the installed parts of an engine, as a program in the folder would load them. */
export function findEngine(name: EngineName, folder: string): FoundEngine {
  const { backend: backendName, libraries } = ENGINES[name];
  const backend = findPackage(backendName, [folder]);
  const places = backend === undefined ? [folder] : [folder, backend.folder];
  return {
    name,
    backend,
    libraries: libraries.flatMap((library) => findPackage(library, places) ?? []),
  };
}

/** Whether backend and library are installed, so that a step can be tried. */
export function isComplete({ backend, libraries }: FoundEngine): boolean {
  return backend !== undefined && libraries.length > 0;
}

export function engineFinding(found: FoundEngine, platform: NodeJS.Platform = process.platform): Finding {
  const { title, backend: backendName, libraries: names, install } = ENGINES[found.name];
  const { backend, libraries } = found;
  const common = { about: title, facts: { backend, libraries } };
  const remedy = install(platform);
  const versions = [...(backend === undefined ? [] : [backend]), ...libraries]
    .map(({ name, version }) => `${name} ${version}`)
    .join(", ");
  if (backend !== undefined && entryUrl("@mp/graph", backend.folder) === undefined) {
    const text = `${backendName} ${backend.version} is installed without @mp/graph`;
    return { ...common, status: "problem", text, remedy };
  }
  if (isComplete(found)) return { ...common, status: "ok", text: versions };
  const missing = [
    ...(backend === undefined ? [backendName] : []),
    ...(libraries.length === 0 ? [names.join(" or ")] : []),
  ];
  const text = `not installed here: ${missing.join(", ")}${versions && ` (found: ${versions})`}`;
  return { ...common, status: "missing", text, remedy };
}

/** Versions of tfjs-node that call functions of `node:util` that Node 23 removed. */
const TFJS_NODE_WITHOUT_FIX = /^[0-4]\.([0-9]|1[0-9]|2[0-2])\./;

/** Problems that an engine's package has with a version of Node, although its addon loads. */
export function nodeProblems({ libraries }: FoundEngine, nodeVersion: string): readonly Finding[] {
  if (Number(nodeVersion.split(".")[0]) < 23) return [];
  return libraries
    .filter(({ name, version }) => name.startsWith("@tensorflow/") && TFJS_NODE_WITHOUT_FIX.test(version))
    .map(({ name, version }) => ({
      about: `Node for ${name}`,
      status: "note",
      text: `Node ${nodeVersion} is too new for ${name} ${version}, which calls functions that Node 23 removed`,
      remedy:
        "open it with loadTfjsNode() of @mp/backend-tfjs, or call its restoreNodeUtil() before your own import",
      facts: { node: nodeVersion, package: name, version },
    }));
}
