import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { randomOf } from "../../test/soak/size.js";
import * as node from "./node.js";
import * as plain from "./plain.js";

const inPieces = ({ sha256 }: typeof plain, bytes: Uint8Array, piece: number): string => {
  const hash = sha256();
  for (let at = 0; at < bytes.length; at += piece) hash.update(bytes.subarray(at, at + piece));
  return hash.digest();
};

describe.each([
  ["Node's", node],
  ["the plain", plain],
] as const)("%s SHA-256", (_, implementation) => {
  it("gives the digests of FIPS 180-4's examples", () => {
    const bytes = (text: string) => new TextEncoder().encode(text);
    expect(inPieces(implementation, bytes("abc"), 64)).toBe(
      "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
    );
    expect(inPieces(implementation, new Uint8Array(0), 64)).toBe(
      "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    );
    expect(inPieces(implementation, bytes("a".repeat(1_000_000)), 977)).toBe(
      "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0",
    );
  });

  it("hashes every length up to three blocks, in pieces of any length", () => {
    const random = randomOf(1);
    for (let length = 0; length < 200; length++) {
      const bytes = Uint8Array.from({ length }, () => random() * 256);
      const expected = createHash("sha256").update(bytes).digest("hex");
      for (const piece of [1, 3, 63, 64, 65, 200])
        expect(inPieces(implementation, bytes, piece)).toBe(expected);
    }
  });
});
