/** Selects files by names and patterns. */
import { MpError } from "@mp/graph";
import { quote } from "./ask.js";
import { staysInside } from "./repository.js";

/** The most bytes of a file's name on common file systems. */
const NAME_BYTES = 255;

/**
 * Selects the files that match any of the patterns; all files if there are none. `lacking` lists names without
 * wildcards that no file has, or all patterns if no file matches. A single pattern may match nothing, because models
 * have different files.
 * @throws MP_PARSE for a file that leads out of its folder, or whose name no file system accepts
 */
export function chooseFiles<F extends { readonly path: string }>(
  list: readonly F[],
  patterns: readonly string[] | undefined,
): { readonly files: readonly F[]; readonly lacking: readonly string[] } {
  const whole = patterns?.map((pattern) => (pattern.endsWith("/") ? `${pattern}*` : pattern));
  const files = list.filter(({ path }) => whole?.some((pattern) => matches(pattern, path)) ?? true);
  for (const { path } of files) {
    const isLong = path.split("/").some((name) => Buffer.byteLength(name) > NAME_BYTES);
    if (!isLong && staysInside(path)) continue;
    const problem = isLong ? `has a name of more than ${NAME_BYTES} bytes` : "leads out of the cache";
    throw new MpError(
      "MP_PARSE",
      `download: the hub lists ${quote(path)}, which ${problem}; name the files that you need in files`,
      { details: { file: path } },
    );
  }
  const isLacking = (pattern: string, at: number): boolean =>
    files.length === 0 ||
    (!/[*?]/.test(pattern) && !files.some(({ path }) => matches(whole?.[at] ?? "", path)));
  return { files, lacking: patterns?.filter(isLacking) ?? [] };
}

/** Formats at most five paths, and the number of the others, for messages. */
export function listPaths(paths: readonly string[]): string {
  const named = paths.slice(0, 5).map((path) => path.slice(0, NAME_BYTES).replace(/\p{Cc}/gu, "?"));
  const more = paths.length > 5 ? ` and ${paths.length - 5} more` : "";
  return paths.length === 0 ? "no file" : named.join(", ") + more;
}

/**
 * Whether a path matches a pattern, in which `*` and `?` match slashes too, as in Python. Takes time
 * proportional to the product of both lengths at most; a regular expression could take far longer.
 */
function matches(pattern: string, path: string): boolean {
  let [at, from, star, starFrom] = [0, 0, -1, 0];
  while (from < path.length) {
    if (pattern[at] === "*") [star, starFrom, at] = [at, from, at + 1];
    else if (pattern[at] === "?" || pattern[at] === path[from]) [at, from] = [at + 1, from + 1];
    else if (star < 0) return false;
    else {
      starFrom += 1;
      [at, from] = [star + 1, starFrom];
    }
  }
  return /^\**$/.test(pattern.slice(at));
}
