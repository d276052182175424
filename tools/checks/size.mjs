/** The sizes that .size-limit.json limits; two of them are of bundles for a browser, which are made here. */
import { tool, turbo } from "../workspace/turbo.mjs";
import { bundleForBrowser } from "./browser-bundle.mjs";

const built = turbo(["build"], { filter: ["@mp/core", "@mp/onnx", "@mp/safetensors"], quiet: true });
if (built) bundleForBrowser();
process.exitCode = built && tool("size-limit", []) ? 0 : 1;
