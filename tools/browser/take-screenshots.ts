import type { Page } from "playwright-core";

/** In pixels. */
const PART_HEIGHT = 2000;
/** Largest number of parts. The page of a large model has 27, which look alike from here on. */
const MOST_PARTS = 5;

/**
 * Writes the top of a page in parts, to `<path>-0.png` and so on. On a busy machine Chromium sometimes fails to capture a
 * page, the more so a long page as a whole. The pictures are for a person to look at, so no test fails for that.
 */
export async function takeScreenshots(page: Page, path: string): Promise<void> {
  const before = page.viewportSize();
  const width = before?.width ?? 1280;
  await page.setViewportSize({ width, height: PART_HEIGHT });
  const height = await page.evaluate(() => document.documentElement.scrollHeight);
  for (let part = 0; part < Math.min(MOST_PARTS, height / PART_HEIGHT); part++) {
    await page.evaluate((top) => scrollTo(0, top), part * PART_HEIGHT);
    const file = `${path}-${part}.png`;
    await page
      .screenshot({ path: file })
      .catch((error: Error) => console.warn(`${file} is missing: ${error.message}`));
  }
  if (before !== null) await page.setViewportSize(before);
}
