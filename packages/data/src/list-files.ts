import type { Dirent, Stats } from "node:fs";
import { readdir, realpath, stat } from "node:fs/promises";
import { join, sep } from "node:path";
import { asMpError } from "./regular-file.js";

/**
 * Lists the files below a directory whose name has one of the extensions, as relative paths with `/`, in code-unit
 * order, so that the list is the same on every file system. Hidden entries and `node_modules` are left out. Links to
 * files are followed, links to directories only if asked; each directory is entered once.
 * @throws MP_IO if the directory is missing or is not a directory
 */
export async function listFiles(
  directory: string,
  extensions: readonly string[],
  links: "files" | "all" = "files",
): Promise<string[]> {
  const found: string[] = [];
  const entered = new Set<string>();
  await visit("");
  return found.sort();

  async function visit(relative: string): Promise<void> {
    const folder = join(directory, relative);
    if (links === "all") {
      // A link may lead to a parent directory, or two links to the same directory.
      const real = await realpath(folder).catch(() => folder);
      if (entered.has(real)) return;
      entered.add(real);
    }
    for (const entry of await readEntries(folder)) {
      if (entry.name.startsWith(".") || entry.name === "node_modules") continue;
      const path = relative === "" ? entry.name : `${relative}/${entry.name}`;
      const target = entry.isSymbolicLink() ? await followLink(join(directory, path)) : entry;
      if (target?.isDirectory()) {
        if (target === entry || links === "all") await visit(path);
      } else if (target?.isFile() && hasExtension(entry.name, extensions)) found.push(path);
    }
  }
}

/**
 * Lists the names of directories in a directory, and of links to directories, in code-unit order. Leaves out hidden
 * names, and links to a directory that contains this one.
 * @throws MP_IO if the directory is missing or is not a directory
 */
export async function listFolders(directory: string): Promise<string[]> {
  const names: string[] = [];
  for (const entry of await readEntries(directory)) {
    if (entry.name.startsWith(".")) continue;
    const isFolder = entry.isSymbolicLink()
      ? await leadsToAnother(directory, entry.name)
      : entry.isDirectory();
    if (isFolder) names.push(entry.name);
  }
  return names.sort();
}

async function leadsToAnother(directory: string, link: string): Promise<boolean> {
  const path = join(directory, link);
  if (!(await followLink(path))?.isDirectory()) return false;
  const [here, there] = await Promise.all([realpath(directory), realpath(path)]);
  return here !== there && !here.startsWith(there.endsWith(sep) ? there : there + sep);
}

const hasExtension = (name: string, extensions: readonly string[]): boolean =>
  extensions.some((extension) => name.toLowerCase().endsWith(extension));

/** Lists a directory in a fixed order, so that of several links to one directory every system uses the same link. */
async function readEntries(directory: string): Promise<Dirent[]> {
  try {
    const entries = await readdir(directory, { withFileTypes: true });
    return entries.sort((a, b) => (a.name < b.name ? -1 : 1));
  } catch (cause) {
    throw asMpError(directory, cause);
  }
}

/** Follows a link; undefined if it leads nowhere. */
const followLink = (link: string): Promise<Stats | undefined> => stat(link).catch(() => undefined);
