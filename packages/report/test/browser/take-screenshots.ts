import type { Page } from "playwright-core";

/** In pixels. */
const PART_HEIGHT = 2000;
/** Largest number of parts. The page of a large model has 27, which look alike from here on. */
const MOST_PARTS = 5;
const MOST_TRIES = 5;

/**
 * Writes the top of a page in parts, to `<path>-0.png` and so on: on a busy machine Chromium sometimes fails to capture
 * a long page as a whole. Retries a part that fails, and logs it.
 */
export async function takeScreenshots(page: Page, path: string): Promise<void> {
  const before = page.viewportSize();
  const width = before?.width ?? 1280;
  await page.setViewportSize({ width, height: PART_HEIGHT });
  const height = await page.evaluate(() => document.documentElement.scrollHeight);
  for (let part = 0; part < Math.min(MOST_PARTS, height / PART_HEIGHT); part++) {
    await page.evaluate((top) => scrollTo(0, top), part * PART_HEIGHT);
    await takeOne(page, `${path}-${part}.png`);
  }
  if (before !== null) await page.setViewportSize(before);
}

async function takeOne(page: Page, path: string): Promise<void> {
  for (let left = MOST_TRIES - 1; ; left--) {
    try {
      await page.screenshot({ path });
      return;
    } catch (error) {
      if (left === 0) throw error;
      console.warn(`${path}: ${error instanceof Error ? error.message : error}; tried again`);
    }
  }
}
