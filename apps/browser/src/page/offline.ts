// The page's service worker, which keeps every file of the page, so that the page opens without a network.

/** The page's files and a hash of them all, which `build-page` inserts. */
declare const KEPT: { readonly files: readonly string[]; readonly version: string };

/** The used parts of a service worker's global scope; the DOM's types know only a window's. */
interface Lasting extends Event {
  waitUntil(work: Promise<unknown>): void;
}
interface Fetch extends Event {
  readonly request: Request;
  respondWith(response: Promise<Response>): void;
}
const scope = globalThis as unknown as {
  addEventListener(type: "install" | "activate", listen: (event: Lasting) => void): void;
  addEventListener(type: "fetch", listen: (event: Fetch) => void): void;
  skipWaiting(): Promise<void>;
  readonly clients: { claim(): Promise<void> };
};

const PREFIX = "mp-digits-";
const NAME = `${PREFIX}${KEPT.version}`;

scope.addEventListener("install", (event) => event.waitUntil(keep()));
scope.addEventListener("activate", (event) => event.waitUntil(forgetOlder()));
scope.addEventListener("fetch", (event) => {
  if (event.request.method === "GET") event.respondWith(answer(event.request));
});

async function keep(): Promise<void> {
  await (await caches.open(NAME)).addAll([...KEPT.files]);
  await scope.skipWaiting();
}

async function forgetOlder(): Promise<void> {
  for (const name of await caches.keys())
    if (name.startsWith(PREFIX) && name !== NAME) await caches.delete(name);
  await scope.clients.claim();
}

async function answer(request: Request): Promise<Response> {
  const kept = await (await caches.open(NAME)).match(request, { ignoreSearch: true });
  return kept ?? fetch(request);
}
