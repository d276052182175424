/** A real browser without a window. The one of @sparticuz/chromium comes whole with its package. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import chromium from "@sparticuz/chromium";
import { type Browser, chromium as driver } from "playwright-core";

export interface OpenBrowser {
  readonly browser: Browser;
  readonly close: () => Promise<void>;
}

/** Why there is no browser on this machine; undefined where there is one. */
export const noBrowser: string | undefined =
  process.env["MP_CHROMIUM"] !== undefined || (process.platform === "linux" && process.arch === "x64")
    ? undefined
    : "the test's Chromium is for Linux on x64; set MP_CHROMIUM to the path of another";

/** Opens the package's Chromium, which is for Linux on x64, or the one at `MP_CHROMIUM`. */
export async function openBrowser(): Promise<OpenBrowser> {
  if (noBrowser !== undefined) throw new Error(noBrowser);
  const own = process.env["MP_CHROMIUM"];
  const folder = mkdtempSync(join(tmpdir(), "mp-chromium-"));
  const executablePath = own ?? (await unpackedTo(folder));
  const browser = await driver.launch({
    executablePath,
    // The test ends what hangs; a busy machine takes longer than the driver's half a minute.
    timeout: 0,
    args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"],
  });
  return {
    browser,
    close: async () => {
      await browser.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** The package unpacks to the system's temporary folder, where a run that was killed would leave half a browser. */
async function unpackedTo(folder: string): Promise<string> {
  const before = process.env["TMPDIR"];
  process.env["TMPDIR"] = folder;
  try {
    chromium.setGraphicsMode = false;
    return await chromium.executablePath();
  } finally {
    if (before === undefined) delete process.env["TMPDIR"];
    else process.env["TMPDIR"] = before;
  }
}
