/** The sizes that .size-limit.json limits; one of them is of core's bundle for a browser, which is made here. */
import { tool, turbo } from "../workspace/turbo.mjs";
import { bundleForBrowser } from "./browser-bundle.mjs";

const built = turbo(["build"], { filter: ["@mp/core", "@mp/safetensors"], quiet: true });
if (built) bundleForBrowser();
process.exitCode = built && tool("size-limit", []) ? 0 : 1;
