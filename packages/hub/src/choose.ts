/** Selects files by names and patterns. */
import { MpError } from "@mp/graph";
import { staysInside } from "./repository.js";

/**
 * Selects the files that match any of the patterns; all files if there are none. `lacking` lists names without
 * wildcards that no file has, or all patterns if no file matches. A single pattern may match nothing, because models
 * have different files.
 * @throws MP_PARSE for a file that leads out of its folder
 */
export function chooseFiles<F extends { readonly path: string }>(
  list: readonly F[],
  patterns: readonly string[] | undefined,
): { readonly files: readonly F[]; readonly lacking: readonly string[] } {
  const matchers = patterns?.map(compilePattern);
  const files = list.filter(({ path }) => matchers?.some((matches) => matches(path)) ?? true);
  const outside = files.find(({ path }) => !staysInside(path));
  if (outside !== undefined) {
    throw new MpError(
      "MP_PARSE",
      `download: the hub lists ${JSON.stringify(outside.path)}, which leads out of the cache; name the files that you need in files`,
      { details: { file: outside.path } },
    );
  }
  const isLacking = (pattern: string, at: number): boolean =>
    files.length === 0 || (!/[*?]/.test(pattern) && !files.some(({ path }) => matchers?.[at]?.(path)));
  return { files, lacking: patterns?.filter(isLacking) ?? [] };
}

/** The first few of a list, for messages. */
export function listPaths(paths: readonly string[]): string {
  const more = paths.length > 5 ? ` and ${paths.length - 5} more` : "";
  return paths.length === 0 ? "no file" : `${paths.slice(0, 5).join(", ")}${more}`;
}

/** Compiles a pattern. `*` and `?` match slashes too, as in Python; a final slash matches everything below. */
function compilePattern(pattern: string): (path: string) => boolean {
  const whole = pattern.endsWith("/") ? `${pattern}*` : pattern;
  const source = whole
    .replace(/[.+^${}()|[\]\\]/g, "\\$&")
    .replaceAll("*", ".*")
    .replaceAll("?", ".");
  const expression = new RegExp(`^${source}$`, "su");
  return (path) => expression.test(path);
}
