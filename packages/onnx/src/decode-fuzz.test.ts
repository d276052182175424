// Any bytes give a model or an MpError, soon; protobuf reads all bytes that the scan accepts.
import { fromBinary } from "@bufbuild/protobuf";
import { MpError } from "@mp/graph";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { FIXTURES, fixture } from "../test/fixtures.js";
import { mutate, randomOf } from "../test/mutations.js";
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
