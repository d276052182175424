import { testPackages } from "./package-tests.mjs";
import { countMissing, PartsMissing } from "./parts.mjs";

/** Whether there is a Chromium: that of the npm package, or one that MP_CHROMIUM names. */
export const hasBrowser = () =>
  process.env["MP_CHROMIUM"] !== undefined || (process.platform === "linux" && process.arch === "x64");

/**
 * Packages' tests in a browser.
 * @returns {{ passed: number; failed: number }} nothing passed and nothing failed where there is none, which counts as
 *   failed where MP_REQUIRE names browser
 */
export function testBrowser() {
  if (hasBrowser()) return testPackages("test:browser");
  return countMissing(
    "browser",
    "Nothing was tested in a browser",
    new PartsMissing(
      `npm's package of Chromium is for linux/x64, this is ${process.platform}/${process.arch}`,
    ),
    "a Chromium whose path is in MP_CHROMIUM",
  );
}
