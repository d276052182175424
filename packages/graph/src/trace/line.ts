const internalPrefixes: string[] = [];

/** Number of stack frames to search, since nested layers come between an operator and the user's line. */
export const STACK_DEPTH = 60;

/**
 * Declares the folder of a module to be part of the SDK, so that errors and node origins name the first
 * line outside it. Libraries of layers call it once with `import.meta.url`. A stack may show the bundle in `dist` or,
 * through source maps, files under `src`: both are hidden.
 */
export function hideFromOrigins(moduleUrl: string | undefined): void {
  // Undefined in a bundle that is a plain script.
  if (moduleUrl === undefined) return;
  const folder = moduleUrl.slice(0, moduleUrl.lastIndexOf("/") + 1);
  const root = /^(.*\/)(?:src|dist)\/$/.exec(folder)?.[1];
  const folders = root === undefined ? [folder] : [`${root}src/`, `${root}dist/`];
  for (const prefix of folders) if (!internalPrefixes.includes(prefix)) internalPrefixes.push(prefix);
}

hideFromOrigins((import.meta.url as string | undefined)?.replace(/\/src\/trace\/[^/]*$/, "/src/index.js"));

/** The innermost stack frame outside the SDK as `file:line:column`, or undefined when there is none. */
export function userLine(): string | undefined {
  const limit = Error.stackTraceLimit;
  Error.stackTraceLimit = STACK_DEPTH;
  const { stack } = new Error();
  Error.stackTraceLimit = limit;
  return stack === undefined ? undefined : findUserLine(stack);
}

/** `userLine` for a given stack. */
export function findUserLine(stack: string): string | undefined {
  for (const frame of stack.split("\n")) {
    const location = /^ +at (?:.*\()?((?:file:\/\/|\/|[A-Za-z]:\\|https?:)[^()]*:\d+:\d+)\)?$/.exec(
      frame,
    )?.[1];
    if (location === undefined) continue;
    const url = location.startsWith("/") ? `file://${location}` : location;
    const isTest = /\.test\.[mc]?[jt]s:/.test(url);
    if (!isTest && internalPrefixes.some((prefix) => url.startsWith(prefix))) continue;
    return url.replace(/^file:\/\//, "");
  }
  return undefined;
}
