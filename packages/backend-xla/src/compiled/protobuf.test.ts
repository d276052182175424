import { describe, expect, it } from "vitest";
import { messageAt, numberAt, numbersAt, readMessage, textAt } from "./protobuf.js";

describe("readMessage", () => {
  it("reads numbers, text, messages, and lists in both forms", () => {
    const bytes = Uint8Array.of(
      ...[0x08, 0xac, 0x02], // 1: 300
      ...[0x12, 2, 0x68, 0x69], // 2: "hi"
      ...[0x1a, 2, 0x08, 7], // 3: { 1: 7 }
      ...[0x22, 3, 1, 0x80, 0x01], // 4: 1 and 128, packed
      ...[0x28, 5, 0x28, 6], // 5: 5 and 6, not packed
      ...[0x35, 0, 0, 0, 0], // 6: 4 bytes
      ...[0x39, 0, 0, 0, 0, 0, 0, 0, 0], // 7: 8 bytes
    );
    const message = readMessage(bytes);
    expect(numberAt(message, 1)).toBe(300);
    expect(textAt(message, 2)).toBe("hi");
    expect(numberAt(messageAt(message, 3), 1)).toBe(7);
    expect(numbersAt(message, 4)).toEqual([1, 128]);
    expect(numbersAt(message, 5)).toEqual([5, 6]);
    expect([numberAt(message, 8), textAt(message, 8), numbersAt(message, 8)]).toEqual([0, "", []]);
  });

  it("refuses what is no message", () => {
    expect(() => readMessage(Uint8Array.of(0x0b))).toThrow("premature EOF");
  });
});
