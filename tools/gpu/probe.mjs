// A separate process: opens the device and prints what the backend's probe found.
const { ort } = await import(new URL("../../packages/backend-ort/dist/index.js", import.meta.url).href);

const device = process.argv[2];
const began = performance.now();
const backend = await ort({ device });
const openSeconds = (performance.now() - began) / 1000;
const { manifest } = backend;
await backend.dispose();
console.log(JSON.stringify({ openSeconds, manifest }));
