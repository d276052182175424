// Trains a small model with the cache in the folder that is given, and prints its losses. With a second word it then
// waits to be killed.
import { openvino } from "@mp/backend-openvino";
import { smallTraining } from "./small-training.mjs";

console.log(JSON.stringify(await smallTraining(await openvino({ cache: process.argv[2] }))));
if (process.argv[3] !== undefined) setInterval(() => {}, 1000);
