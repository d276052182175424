import { fileURLToPath } from "node:url";
import { openBrowser } from "@mp/test-browser";
import type { Page } from "playwright-core";
import type { RunName, Step } from "../../src/page/messages.js";
import { servePage } from "../../src/serve.js";

declare global {
  /** The steps that the worker has reported. */
  var steps: Step[];
}

/** Messages that are not complaints: Chromium on Linux prints them about WebGPU, or if it has none. */
const IS_NEWS = /^WebGPU is experimental on this platform|^No available adapters/;

/** The built page in a headless browser. */
export class OpenDemo {
  readonly page: Page;
  /** Errors and warnings of the page. */
  readonly complaints: string[] = [];
  readonly #closeBrowser: () => Promise<void>;
  readonly #closeServer: () => Promise<void>;
  #isServed = true;

  static async open(options: { readonly webgpu: boolean }): Promise<OpenDemo> {
    const folder = fileURLToPath(new URL("../../dist/page", import.meta.url));
    const served = await servePage({ port: 0, folder });
    const { browser, close } = await openBrowser(options);
    const page = await browser.newPage({ acceptDownloads: true });
    const demo = new OpenDemo(page, close, () => served.close());
    await page.addInitScript(() => {
      globalThis.steps = [];
      globalThis.Worker = class extends Worker {
        constructor(...given: ConstructorParameters<typeof Worker>) {
          super(...given);
          this.addEventListener("message", ({ data }) => {
            if (data.type === "step") globalThis.steps.push(data);
          });
        }
      };
    });
    await page.goto(served.url);
    await page.waitForSelector("#train:enabled");
    return demo;
  }

  private constructor(page: Page, closeBrowser: () => Promise<void>, closeServer: () => Promise<void>) {
    this.page = page;
    this.#closeBrowser = closeBrowser;
    this.#closeServer = closeServer;
    page.setDefaultTimeout(0);
    page.on("console", (message) => {
      if (message.type() !== "log" && !IS_NEWS.test(message.text())) this.complaints.push(message.text());
    });
    page.on("pageerror", (error) => this.complaints.push(error.message));
  }

  /** The losses of a run so far. */
  losses(run: RunName): Promise<readonly number[]> {
    return this.page.evaluate(
      (asked) => globalThis.steps.filter((step) => step.run === asked).map(({ loss }) => loss),
      run,
    );
  }

  /** Trains until both runs have made `count` steps or more, then pauses. Throws if the page reports a failure. */
  async trainUntil(count: number): Promise<void> {
    if ((await this.page.textContent("#train")) === "Go on") await this.page.click("#train");
    const status = await this.page.waitForFunction((least) => {
      const { textContent } = document.querySelector("#status") ?? {};
      const isDone = ["float32", "float16"].every(
        (run) => globalThis.steps.filter((step) => step.run === run).length >= least,
      );
      return isDone || textContent?.startsWith("Failed") ? textContent : undefined;
    }, count);
    const text = String(await status.jsonValue());
    if (text.startsWith("Failed")) throw new Error(text);
    await this.page.click("#train");
    await this.waitForText("#status", "Paused.");
  }

  /** @param start the beginning of the element's text */
  async waitForText(selector: string, start: string): Promise<void> {
    await this.page.waitForFunction(
      ([asked, begin]) => document.querySelector(asked)?.textContent?.startsWith(begin) === true,
      [selector, start] as const,
    );
  }

  /** The checkpoint of a run as the page offers it: the file's name and its bytes. */
  async checkpoint(run: RunName): Promise<{ readonly name: string; readonly path: string }> {
    const [download] = await Promise.all([
      this.page.waitForEvent("download"),
      this.page.click(`#save-${run}`),
    ]);
    return { name: download.suggestedFilename(), path: await download.path() };
  }

  /** Closes the server, as if there were no network. */
  async closeServer(): Promise<void> {
    if (this.#isServed) await this.#closeServer();
    this.#isServed = false;
  }

  async close(): Promise<void> {
    await this.#closeBrowser();
    await this.closeServer();
  }
}
