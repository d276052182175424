const internalPrefixes: string[] = [];

/**
 * Declares the folder of a module to be part of the SDK, so that errors and node origins name the first
 * line outside it. Libraries of layers call it once with `import.meta.url`.
 */
export function hideFromOrigins(moduleUrl: string): void {
  const prefix = moduleUrl.slice(0, moduleUrl.lastIndexOf("/") + 1);
  if (!internalPrefixes.includes(prefix)) internalPrefixes.push(prefix);
}

/** A bundle is one file in `dist` and maps back to a tree under `src`: hide both. */
for (const folder of ["src", "dist"]) {
  hideFromOrigins(import.meta.url.replace(/\/(src\/trace|dist)\/[^/]*$/, `/${folder}/index.js`));
}

/** The innermost stack frame outside the SDK as `file:line:column`, or undefined when there is none. */
export function userLine(): string | undefined {
  const limit = Error.stackTraceLimit;
  Error.stackTraceLimit = 30;
  const stack = new Error().stack;
  Error.stackTraceLimit = limit;
  if (stack === undefined) return undefined;
  for (const frame of stack.split("\n").slice(1)) {
    const place = /(?:\(|at )((?:file:\/\/|\/|[A-Za-z]:\\|https?:)[^()]*:\d+:\d+)\)?$/.exec(frame)?.[1];
    if (place === undefined) continue;
    const url = place.startsWith("/") ? `file://${place}` : place;
    const isTest = /\.test\.[mc]?[jt]s:/.test(url);
    if (!isTest && internalPrefixes.some((prefix) => url.startsWith(prefix))) continue;
    return url.replace(/^file:\/\//, "");
  }
  return undefined;
}
