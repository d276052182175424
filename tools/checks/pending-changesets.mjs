import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fail } from "../workspace/fail.mjs";
import { publicLibraries, root } from "../workspace/packages.mjs";

/**
 * The changesets of the working tree, with the packages that each names and the step of each.
 * @returns {readonly { readonly path: string; readonly releases: ReadonlyMap<string, string> }[]}
 */
export function pendingChangesets() {
  const folder = join(root, ".changeset");
  const known = new Set(publicLibraries().map(({ name }) => name));
  return readdirSync(folder)
    .filter((file) => file.endsWith(".md") && file !== "README.md")
    .map((file) => {
      const [, head, text] =
        /^---\n([\s\S]*?)\n---\n([\s\S]*)$/.exec(readFileSync(join(folder, file), "utf8")) ?? [];
      const releases = new Map(
        [...(head ?? "").matchAll(/^["'](.+)["']: (patch|minor|major)$/gm)].map(
          ([, name = "", step = ""]) => [name, step],
        ),
      );
      if (releases.size === 0) fail(`.changeset/${file}: names no package with patch, minor or major`);
      const unknown = [...releases.keys()].find((name) => !known.has(name));
      if (unknown) fail(`.changeset/${file}: ${unknown} is not a public package of this workspace`);
      if (!text?.trim()) fail(`.changeset/${file}: say in one sentence what changes for a user`);
      return { path: `.changeset/${file}`, releases };
    });
}
