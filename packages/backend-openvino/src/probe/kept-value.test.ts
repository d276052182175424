import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { keepValue, readValue } from "./kept-value.js";

let folder = "";
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "mp-kept-"));
});
afterAll(() => rmSync(folder, { recursive: true }));

const VALUE = { missing: new Map([["Erf f16", "no kernel"]]), widened: new Set(["MatMul f16"]) };

it("keeps a value for what it was found for, and for nothing else", () => {
  const path = join(folder, "a", "b", "findings.json");
  expect(readValue(path, "one")).toBeUndefined();
  keepValue(path, "one", VALUE);
  expect(readValue(path, "one")).toStrictEqual(VALUE);
  expect(readValue(path, "two")).toBeUndefined();
  keepValue(path, "two", 2);
  expect([readValue(path, "one"), readValue(path, "two")]).toEqual([undefined, 2]);
  expect(readdirSync(join(folder, "a", "b"))).toEqual(["findings.json"]);
});

it.each(
  [
    [undefined, null, true, "a\u2028\u0000\ud800", 2n ** 70n],
    [0, -0, 1.5e-320, Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY],
    new Set<unknown>(["a", new Set([1]), undefined]),
    new Map<unknown, unknown>([
      ["a", new Map([[1, "b"]])],
      [{ x: 1 }, undefined],
    ]),
    { a: undefined, b: { set: [1], map: null }, "": [[], {}, [undefined]] },
    Object.fromEntries([["__proto__", 1]]),
  ].map((value) => [value]),
)("keeps %o", (value) => {
  const path = join(folder, "plain");
  keepValue(path, "one", value);
  expect(readValue(path, "one")).toStrictEqual(value);
});

it("ignores a damaged or foreign file, whichever byte it is, and replaces it", () => {
  const path = join(folder, "damaged.json");
  keepValue(path, "one", VALUE);
  const whole = readFileSync(path);
  for (let at = 0; at < whole.length; at++) {
    const damaged = Buffer.from(whole);
    damaged.writeUInt8((damaged.readUInt8(at) + 1) % 256, at);
    writeFileSync(path, damaged);
    expect(readValue(path, "one"), `byte ${at}`).toBeUndefined();
  }
  for (const text of ["", "{}", whole.subarray(0, -1), "a\nb"]) {
    writeFileSync(path, text);
    expect(readValue(path, "one")).toBeUndefined();
  }
  keepValue(path, "one", VALUE);
  expect(readValue(path, "one")).toStrictEqual(VALUE);
});

it("keeps nothing, without an error, where it cannot write", () => {
  const file = join(folder, "file");
  writeFileSync(file, "");
  keepValue(join(file, "findings.json"), "one", VALUE);
  expect(readValue(join(file, "findings.json"), "one")).toBeUndefined();
  const taken = join(folder, "taken");
  mkdirSync(join(taken, "findings.json", "x"), { recursive: true });
  keepValue(join(taken, "findings.json"), "one", VALUE);
  expect(readdirSync(taken)).toEqual(["findings.json"]);
  const closed = join(folder, "closed");
  mkdirSync(closed);
  chmodSync(closed, 0o500);
  // The superuser can write there nevertheless.
  expect(() => keepValue(join(closed, "findings.json"), "one", VALUE)).not.toThrow();
  chmodSync(closed, 0o700);
});
