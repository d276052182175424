// Downloads from each address of a hostile hub, one after the other, as a process of its own, whose memory is measured.
import { download } from "@mp/hub";

const [cache, ...endpoints] = process.argv.slice(2);
for (const endpoint of endpoints) {
  globalThis.gc();
  const before = process.memoryUsage.rss();
  let most = before;
  const watch = setInterval(() => {
    most = Math.max(most, process.memoryUsage.rss());
  }, 2);
  const begin = performance.now();
  const outcome = await download("org/tiny-model", {
    endpoint,
    cache: `${cache}/${new URL(endpoint).pathname}`,
  }).then(
    () => ({ code: "whole" }),
    ({ code, message }) => ({ code, message }),
  );
  clearInterval(watch);
  const rss = Math.max(most, process.memoryUsage.rss()) - before;
  process.stdout.write(`${JSON.stringify({ ...outcome, ms: performance.now() - begin, rss })}\n`);
}
