import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { MpError } from "@mp/core";

/**
 * Files below a directory whose name ends in one of the extensions, as paths relative to it with `/`, in
 * code-unit order: the same list on every file system. Hidden entries and `node_modules` are passed over;
 * links to files are followed, links to directories are not.
 * @throws MP_IO when the directory is missing or is none
 */
export async function listFiles(directory: string, extensions: readonly string[]): Promise<string[]> {
  const found: string[] = [];
  await visit("");
  return found.sort();

  async function visit(relative: string): Promise<void> {
    for (const entry of await entriesOf(join(directory, relative))) {
      if (entry.name.startsWith(".") || entry.name === "node_modules") continue;
      const path = relative === "" ? entry.name : `${relative}/${entry.name}`;
      if (entry.isDirectory()) await visit(path);
      else if (extensions.some((extension) => entry.name.toLowerCase().endsWith(extension))) {
        if (entry.isFile() || (entry.isSymbolicLink() && (await isFile(join(directory, path)))))
          found.push(path);
      }
    }
  }
}

async function entriesOf(directory: string): Promise<import("node:fs").Dirent[]> {
  try {
    return await readdir(directory, { withFileTypes: true });
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    const reason =
      code === "ENOENT"
        ? "no such directory"
        : code === "ENOTDIR"
          ? "not a directory"
          : (code ?? String(cause));
    throw new MpError("MP_IO", `${directory}: ${reason}`, {
      details: { path: directory, reason: code },
      cause,
    });
  }
}

async function isFile(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isFile();
  } catch {
    return false;
  }
}
