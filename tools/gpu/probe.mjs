// A separate process: opens the engine on the device and prints what the backend's probe found.
import { openBackend } from "./engine.mjs";

const [engine = "ort", device = "cpu"] = process.argv.slice(2);
const began = performance.now();
const backend = await openBackend(engine, device);
const openSeconds = (performance.now() - began) / 1000;
const { manifest } = backend;
await backend.dispose();
console.log(JSON.stringify({ openSeconds, manifest }));
