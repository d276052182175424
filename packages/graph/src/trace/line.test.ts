import { afterEach, expect, it } from "vitest";
import { hideFromOrigins, userLine } from "./line.js";

const { prepareStackTrace } = Error;
afterEach(() =>
  Object.defineProperty(Error, "prepareStackTrace", { value: prepareStackTrace, writable: true }),
);

const here = (): string | undefined => userLine();

it("names the same line when its frames are known, and leaves the process's stacks as they were", () => {
  const { stackTraceLimit } = Error;
  const lines = [here(), here(), userLine()];
  const at = (line: number): unknown => expect.stringMatching(new RegExp(`/line\\.test\\.ts:${line}:\\d+$`));
  expect(lines).toEqual([at(9), lines[0], at(13)]);
  expect([Error.stackTraceLimit, Error.prepareStackTrace]).toEqual([stackTraceLimit, prepareStackTrace]);
});

it("reads the text of a stack where the engine gives no frames", () => {
  Object.defineProperty(Error, "prepareStackTrace", { get: () => undefined, set: () => undefined });
  expect(here()).toMatch(/\/line\.test\.ts:\d+:\d+$/);
});

it("reads the text of a stack where frames have no positions, as in Bun", () => {
  let prepare: typeof Error.prepareStackTrace;
  const plain = (site: NodeJS.CallSite): unknown => ({
    getScriptNameOrSourceURL: () => `bun:${site.getScriptNameOrSourceURL()}`,
  });
  Object.defineProperty(Error, "prepareStackTrace", {
    get: () =>
      prepare && ((error: Error, sites: NodeJS.CallSite[]) => prepare?.(error, sites.map(plain) as never)),
    set: (given) => {
      prepare = given;
    },
  });
  expect(here()).toMatch(/\/line\.test\.ts:\d+:\d+$/);
});

it("leaves out a folder that is hidden after its frames were known", () => {
  const outside = new Function("userLine", "return userLine();\n//# sourceURL=file:///layers/dist/layer.js");
  expect(outside(userLine)).toBe("/layers/dist/layer.js:3:8");
  hideFromOrigins("file:///layers/dist/index.js");
  expect(outside(userLine)).toMatch(/\/line\.test\.ts:\d+:\d+$/);
});
