import { testPackages } from "./package-tests.mjs";
import { countMissing, PartsMissing } from "./parts.mjs";

/**
 * Packages' tests in a browser.
 * @returns {{ passed: number; failed: number }} nothing passed and nothing failed where there is none, which counts as
 *   failed where MP_REQUIRE names browser
 */
export function testBrowser() {
  const isCarried = process.platform === "linux" && process.arch === "x64";
  if (process.env["MP_CHROMIUM"] !== undefined || isCarried) return testPackages("test:browser");
  return countMissing(
    "browser",
    "Nothing was tested in a browser",
    new PartsMissing(
      `npm's package of Chromium is for linux/x64, this is ${process.platform}/${process.arch}`,
    ),
    "a Chromium whose path is in MP_CHROMIUM",
  );
}
