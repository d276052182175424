import { expect, it } from "vitest";
import { compileOptions } from "./compile-options.js";

const hex = (flags: Parameters<typeof compileOptions>[0], devices = 1): string =>
  Buffer.from(compileOptions(flags, devices)).toString("hex");

it("is a CompileOptionsProto for one replica, with a partition for each device", () => {
  expect(hex({})).toBe("1a09200128013000980100");
  expect(hex({}, 8)).toBe("1a09200128083001980101");
});

it.each([
  ["a truth", false, "1000"],
  ["a text", "on", "0a026f6e"],
  ["an integer", 300, "18ac02"],
])("has %s as a flag", (_, value, bytes) => {
  const length = (text: string): string => (text.length / 2).toString(16).padStart(2, "0");
  const entry = `0a016112${length(bytes)}${bytes}`;
  expect(hex({ a: value })).toBe(`1a092001280130009801003a${length(entry)}${entry}`);
});
