// Opens the backend; prints the manifest's entry for an operator, and the milliseconds that opening took.
import { openvino } from "@mp/backend-openvino";

const begin = performance.now();
const backend = await openvino();
const milliseconds = performance.now() - begin;
console.log(JSON.stringify({ erf: backend.manifest.ops.Erf, milliseconds }));
await backend.dispose();
