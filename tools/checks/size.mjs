/**
 * Checks the budget of source lines, then the sizes that .size-limit.json limits; two of them are of bundles for a
 * browser, which are made here.
 */
import { buildPackages, tool } from "../workspace/turbo.mjs";
import { BUNDLED, bundleForBrowser } from "./browser-bundle.mjs";
import { checkBudget } from "./source-count.mjs";

const within = checkBudget();
const built = buildPackages([...BUNDLED, "@mp/safetensors"]);
if (built) await bundleForBrowser();
process.exitCode = built && tool("size-limit", []) && within ? 0 : 1;
