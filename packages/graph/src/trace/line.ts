const internalPrefixes: string[] = [];

/** Lines by script and position, empty in the SDK. They are kept because the text of a stack takes long to make. */
const places = new Map<string, Map<number, string>>();

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
  places.clear();
}

hideFromOrigins((import.meta.url as string | undefined)?.replace(/\/src\/trace\/[^/]*$/, "/src/index.js"));

/** Returns the caller's stack as frames, or as text in engines that have none. */
const stackHere = (): NodeJS.CallSite[] | string | undefined => new Error().stack;

/** The innermost stack frame outside the SDK as `file:line:column`, or undefined when there is none. */
export function userLine(): string | undefined {
  const { stackTraceLimit, prepareStackTrace } = Error;
  Error.stackTraceLimit = STACK_DEPTH;
  Error.prepareStackTrace = (_, sites) => sites;
  const sites = stackHere();
  Object.assign(Error, { prepareStackTrace });
  try {
    if (typeof sites !== "object") return findUserLine(sites);
    for (const site of sites) {
      const script = site.getScriptNameOrSourceURL();
      const place = script ? places.get(script)?.get(site.getPosition()) : "";
      // The text is that of source maps, where the process has any.
      if (place === undefined) return learnPlaces(sites, stackHere());
      if (place !== "") return place;
    }
    return undefined;
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
}

/** `userLine` for a stack as frames and as text. Remembers the places of frames with positions; Bun's have none. */
function learnPlaces(sites: readonly NodeJS.CallSite[], stack: unknown): string | undefined {
  if (typeof stack !== "string") return undefined;
  const lines = stack.split("\n").slice(1);
  if (lines.length === sites.length && sites[0]?.getPosition !== undefined) {
    for (const [index, site] of sites.entries()) {
      const script = site.getScriptNameOrSourceURL() ?? "";
      const known = places.get(script) ?? new Map<number, string>();
      places.set(script, known.set(site.getPosition(), findUserLine(lines[index]) ?? ""));
    }
  }
  return findUserLine(stack);
}

/** `userLine` for a given stack. */
export function findUserLine(stack = ""): string | undefined {
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
