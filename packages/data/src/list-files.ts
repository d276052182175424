import type { Dirent, Stats } from "node:fs";
import { readdir, realpath, stat } from "node:fs/promises";
import { join, sep } from "node:path";
import { ioError } from "./errors.js";

/**
 * Files below a directory whose name ends in one of the extensions, as paths relative to it with `/`, in
 * code-unit order: the same list on every file system. Hidden entries and `node_modules` are passed over;
 * links to files are followed, links to directories if asked, each directory being entered once.
 * @throws MP_IO when the directory is missing or is none
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
      // A link may lead back up, or two of them to one place.
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
 * Names of the directories in a directory, in code-unit order, and of links to such; hidden ones, and links to one
 * that this one lies in, are passed over.
 * @throws MP_IO when the directory is missing or is none
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

/** Lists a directory in a fixed order, so that of two paths to one directory the same is used everywhere. */
async function readEntries(directory: string): Promise<Dirent[]> {
  try {
    const entries = await readdir(directory, { withFileTypes: true });
    return entries.sort((a, b) => (a.name < b.name ? -1 : 1));
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    const reason =
      code === "ENOENT"
        ? "no such directory"
        : code === "ENOTDIR"
          ? "not a directory"
          : (code ?? String(cause));
    throw ioError(directory, `${reason}`, { reason: code }, cause);
  }
}

/** Follows a link; undefined if it leads nowhere. */
const followLink = (link: string): Promise<Stats | undefined> => stat(link).catch(() => undefined);
