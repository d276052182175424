/** Opens a real browser without a window. The package @sparticuz/chromium contains a whole one. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import chromium from "@sparticuz/chromium";
import { type Browser, chromium as driver } from "playwright-core";

export interface OpenBrowser {
  readonly browser: Browser;
  readonly close: () => Promise<void>;
}

export interface BrowserOptions {
  /**
   * Whether pages get WebGPU: SwiftShader, which runs shaders on the processor and has no f16, or the machine's own GPU
   * where `MP_WEBGPU` is `system`. Default false.
   */
  readonly webgpu?: boolean;
}

/** Opens the package's Chromium, which is for Linux on x64, or the one at `MP_CHROMIUM`. */
export async function openBrowser({ webgpu = false }: BrowserOptions = {}): Promise<OpenBrowser> {
  const folder = mkdtempSync(join(tmpdir(), "mp-chromium-"));
  const executablePath = process.env["MP_CHROMIUM"] ?? (await unpack(folder, webgpu));
  const browser = await driver.launch({
    executablePath,
    // Tests have time limits of their own; a busy machine takes longer than the driver's half a minute.
    timeout: 0,
    args: ["--no-sandbox", "--disable-dev-shm-usage", ...(webgpu ? webgpuFlags() : ["--disable-gpu"])],
  });
  return {
    browser,
    close: async () => {
      await browser.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function webgpuFlags(): readonly string[] {
  const software = process.env["MP_WEBGPU"] === "system" ? [] : ["--use-webgpu-adapter=swiftshader"];
  return ["--enable-unsafe-webgpu", ...software];
}

/** Unpacks the browser into `folder`, because a killed run would leave half of it in the system's temporary folder. */
async function unpack(folder: string, hasGraphics: boolean): Promise<string> {
  const before = process.env["TMPDIR"];
  process.env["TMPDIR"] = folder;
  try {
    chromium.setGraphicsMode = hasGraphics;
    return await chromium.executablePath();
  } finally {
    if (before === undefined) delete process.env["TMPDIR"];
    else process.env["TMPDIR"] = before;
  }
}
