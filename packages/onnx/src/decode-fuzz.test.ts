// Whatever the bytes, there is a model or an MpError, soon; and what the scan lets through, protobuf reads.
import { fromBinary } from "@bufbuild/protobuf";
import { MpError } from "@mp/core";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { FIXTURES, fixture } from "../test/fixtures.js";
import { decodeModel } from "./decode.js";
import { encodeModel } from "./encode.js";
import { ModelProtoSchema } from "./proto/onnx_pb.js";
import { scanModel } from "./scan.js";

function outcome(run: () => unknown): "accepted" | "refused" {
  try {
    run();
    return "accepted";
  } catch (error) {
    if (!MpError.is(error, "MP_PARSE") && !MpError.is(error, "MP_UNSUPPORTED")) throw error;
    return "refused";
  }
}

/** @returns whether the model was accepted */
function examine(bytes: Uint8Array): boolean {
  const scanned = outcome(() => scanModel(bytes));
  if (scanned === "accepted") fromBinary(ModelProtoSchema, bytes);
  const decoded = outcome(() => {
    const model = decodeModel(bytes);
    expect(decodeModel(encodeModel(model))).toEqual(model);
  });
  if (scanned === "refused") expect(decoded).toBe("refused");
  return decoded === "accepted";
}

/** mulberry32, so that a failure names the seed that repeats it. */
function randomOf(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) % below;
  };
}

const interesting = [0x00, 0x01, 0x02, 0x03, 0x04, 0x07, 0x08, 0x0a, 0x7f, 0x80, 0xff];

function mutate(bytes: Uint8Array, random: (below: number) => number): Uint8Array {
  let out = [...bytes];
  for (let count = 1 + random(4); count > 0; count--) {
    const at = random(out.length + 1);
    const length = 1 + random(8);
    switch (random(6)) {
      case 0:
        out[at] = random(256);
        break;
      case 1:
        out[at] = interesting[random(interesting.length)] as number;
        break;
      case 2:
        out[at] = (out[at] ?? 0) ^ (1 << random(8));
        break;
      case 3:
        out.splice(at, length);
        break;
      case 4:
        out.splice(at, 0, ...out.slice(random(out.length + 1)).slice(0, length));
        break;
      default:
        out = out.slice(0, at);
    }
  }
  return Uint8Array.from(out, (byte) => byte ?? 0);
}

describe("fuzzing decodeModel", () => {
  it("survives arbitrary bytes", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        examine(bytes);
      }),
      { numRuns: 2000 },
    );
  });

  it.each(FIXTURES)("survives mutations of %s, some of which stay models", (name) => {
    const original = fixture(name);
    let accepted = 0;
    for (let seed = 0; seed < 2000; seed++) {
      try {
        if (examine(mutate(original, randomOf(seed)))) accepted++;
      } catch (error) {
        throw new Error(`seed ${seed}`, { cause: error });
      }
    }
    expect(accepted).toBeGreaterThan(20);
    expect(accepted).toBeLessThan(2000);
  });

  it("refuses every truncation of a model, or reads a shorter one", () => {
    for (const name of FIXTURES) {
      const original = fixture(name);
      for (let length = 0; length < original.length; length++) examine(original.subarray(0, length));
    }
  });
});
