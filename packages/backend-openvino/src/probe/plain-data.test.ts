import { expect, it } from "vitest";
import { plainText, plainValue } from "./plain-data.js";

const VALUES: readonly unknown[] = [
  undefined,
  null,
  true,
  "a\u2028\u0000\ud800",
  [0, -0, 1.5e-320, Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY],
  2n ** 70n,
  new Set<unknown>(["a", new Set([1]), undefined]),
  new Map<unknown, unknown>([
    ["a", new Map([[1, "b"]])],
    [{ x: 1 }, undefined],
  ]),
  { a: undefined, b: { set: [1], map: null }, "": [[], {}, [undefined]] },
  { undefined: null },
  { number: "1" },
  Object.fromEntries([["__proto__", 1]]),
];

it.each(VALUES.map((value) => [value]))("writes and reads %o", (value) => {
  expect(plainValue(plainText(value))).toStrictEqual(value);
});

it.each([[() => 1], [Symbol("a")], [new Date(0)], [[new Float32Array(1)]]])("refuses %o", (value) => {
  expect(() => plainText(value)).toThrow(TypeError);
});

it.each([
  "",
  "{",
  "{}",
  '{"set":1}',
  '{"map":{"a":1}}',
  '{"class":1}',
  '{"set":[],"map":[]}',
  '{"toString":1}',
])("refuses the text %s", (text) => {
  expect(() => plainValue(text)).toThrow();
});
