/** Module hooks that put the functions of capture.mjs in the place of a package's own. */

/** The names of the functions, by module. @type {ReadonlyMap<string, readonly string[]>} */
let wrapped = new Map();
const SCHEME = "mp-steps:";

/** @type {import("node:module").InitializeHook<(readonly [string, readonly string[]])[]>} */
export async function initialize(names) {
  wrapped = new Map(names);
}

/** @type {import("node:module").ResolveHook} */
export async function resolve(specifier, context, next) {
  if (!wrapped.has(specifier) || context.parentURL?.startsWith(SCHEME) === true)
    return next(specifier, context);
  const { url } = await next(specifier, context);
  return { url: `${SCHEME}${specifier}?${encodeURIComponent(url)}`, shortCircuit: true };
}

/** @type {import("node:module").LoadHook} */
export async function load(url, context, next) {
  if (!url.startsWith(SCHEME)) return next(url, context);
  const [specifier = "", path = ""] = url.slice(SCHEME.length).split("?");
  const real = JSON.stringify(decodeURIComponent(path));
  const wrapper = `globalThis[Symbol.for("mp.steps")][${JSON.stringify(specifier)}]`;
  const names = wrapped.get(specifier) ?? [];
  const source = [
    `import * as real from ${real};`,
    `export * from ${real};`,
    ...names.map((name) => `export const ${name} = ${wrapper}.${name}(real.${name});`),
  ].join("\n");
  return { format: "module", source, shortCircuit: true };
}
