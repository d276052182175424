// Codes, scales and numbers of quantized weights beside bitsandbytes', bit for bit. bench/peers/quantized_weights.py makes
// the fixture; FOLDER=… compares the large cases of `quantized_weights.py large FOLDER` too.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { HostTensor } from "@mp/core";
import { describe, expect, it } from "vitest";
import { run } from "../../test/run-layer.js";
import { WEIGHT_FORMATS, weightOnHost, withWeight } from "./stored-weight.js";

interface Case {
  readonly name: string;
  readonly shape: readonly [number, number];
  readonly weight: string;
  readonly int8: Readonly<Record<string, string>>;
  readonly nf4: Readonly<Record<string, string>>;
}

const read = (path: string | URL): unknown => JSON.parse(readFileSync(path, "utf8"));
const fixture = read(
  new URL("../../test/fixtures/quantized-weights.json", import.meta.url),
) as readonly Case[];
const folder = process.env["FOLDER"];
const large = folder === undefined ? [] : readdirSync(folder).map((name) => read(join(folder, name)) as Case);

const bytes = (text: string | undefined): Uint8Array => Uint8Array.from(Buffer.from(text ?? "", "base64"));
const bytesOf = ({ data }: { readonly data: ArrayLike<unknown> }): Uint8Array => {
  const { buffer, byteOffset, byteLength } = data as Uint8Array;
  return new Uint8Array(buffer, byteOffset, byteLength);
};
const floats = (text: string): Float32Array => new Float32Array(bytes(text).buffer as ArrayBuffer);

/** Converts codes of bitsandbytes, which are signed for int8. */
const stored: Readonly<Record<string, (given: Uint8Array) => Uint8Array>> = {
  int8: (given) => given.map((code) => code ^ 128),
};

function expectSame(got: Uint8Array, want: Uint8Array, what: string): void {
  const at = got.length === want.length ? got.findIndex((byte, place) => byte !== want[place]) : 0;
  if (at >= 0) throw new Error(`${what}: byte ${at} of ${want.length} is ${got[at]}, must be ${want[at]}`);
}

describe.each(["int8", "nf4"] as const)("%s", (format) => {
  it.each([...fixture, ...large].map((each) => [each.name, each.shape, each] as const))(
    "has bitsandbytes' bits: %s %j",
    (_name, shape, { weight, [format]: want }) => {
      const got = WEIGHT_FORMATS[format].quantize(floats(weight), shape);
      const { decoded, ...parts } = want;
      expect(Object.keys(got)).toEqual(Object.keys(parts));
      for (const [name, text] of Object.entries(parts)) {
        const part = got[name as never] as HostTensor;
        expectSame(bytesOf(part), (stored[name] ?? ((given) => given))(bytes(text)), name);
      }
      expectSame(bytesOf(weightOnHost(got)), bytes(decoded), "decoded");
      if (shape[0] * shape[1] > 10_000) return;
      const traced = run({ weight: got as never }, (all) => withWeight(all.weight as never, (own) => own), {
        arithmetic: "exact",
      }) as { readonly data: Float32Array };
      expectSame(bytesOf(traced), bytes(decoded), "decoded in a graph");
    },
  );
});

it("refuses nf4 for rows of an odd length", () => {
  expect(() => WEIGHT_FORMATS.nf4.quantize(new Float32Array(6), [2, 3])).toThrow(
    /even number.*\[2, 3\].*int8/,
  );
});
