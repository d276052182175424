/** Files asked for by names and patterns. */
import { MpError } from "@mp/core";
import { staysInside } from "./repository.js";

/**
 * The files that any of the patterns names, all without patterns, and the patterns that name none.
 * @throws MP_PARSE for a file that leads out of its folder
 */
export function chosen<F extends { readonly path: string }>(
  list: readonly F[],
  patterns: readonly string[] | undefined,
): { readonly files: readonly F[]; readonly lacking: readonly string[] } {
  const matchers = patterns?.map(matcherOf);
  const files = list.filter(({ path }) => matchers?.some((matches) => matches(path)) ?? true);
  const outside = files.find(({ path }) => !staysInside(path));
  if (outside !== undefined) {
    throw new MpError(
      "MP_PARSE",
      `download: the hub lists ${JSON.stringify(outside.path)}, which leads out of the cache; name the files that you need in files`,
      { details: { file: outside.path } },
    );
  }
  const lacking = patterns?.filter((_, at) => !list.some(({ path }) => matchers?.[at]?.(path))) ?? [];
  return { files, lacking };
}

/** The first few of a list, for messages. */
export function shownPaths(paths: readonly string[]): string {
  const more = paths.length > 5 ? ` and ${paths.length - 5} more` : "";
  return paths.length === 0 ? "no file" : `${paths.slice(0, 5).join(", ")}${more}`;
}

/** `*` and `?` match slashes too, as in Python; a pattern that ends in a slash is all below it. */
function matcherOf(pattern: string): (path: string) => boolean {
  const whole = pattern.endsWith("/") ? `${pattern}*` : pattern;
  const source = whole
    .replace(/[.+^${}()|[\]\\]/g, "\\$&")
    .replaceAll("*", ".*")
    .replaceAll("?", ".");
  const expression = new RegExp(`^${source}$`, "su");
  return (path) => expression.test(path);
}
