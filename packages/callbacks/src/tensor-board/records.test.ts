import { create, toBinary } from "@bufbuild/protobuf";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { EventSchema } from "../proto/event_pb.js";
import { crc32c } from "./crc32c.js";
import { encodeRecord, recordsIn } from "./records.js";

describe("crc32c", () => {
  it.each([
    ["", 0],
    // The check value of the CRC catalog.
    ["123456789", 0xe3069283],
    // RFC 3720, B.4: 32 bytes of zeros.
    ["\0".repeat(32), 0x8a9136aa],
  ])("of %o", (text, crc) => {
    expect(crc32c(Buffer.from(text))).toBe(crc);
  });
});

describe("a record", () => {
  it("has the bytes of TensorBoard's own writer", () => {
    // tensorboard 2.21.0: RecordWriter(f).write(Event(wall_time=1.5, step=7, summary=Summary(value=[Summary.Value(
    // tag="train/loss", simple_value=0.25)])).SerializeToString())
    const golden =
      "200000000000000029eda95009000000000000f83f10072a130a110a0a747261696e2f6c6f7373150000803ef4985d1a";
    const value = { tag: "train/loss", value: { case: "simpleValue" as const, value: 0.25 } };
    const event = create(EventSchema, {
      wallTime: 1.5,
      step: 7n,
      what: { case: "summary", value: { value: [value] } },
    });
    expect(Buffer.from(encodeRecord(toBinary(EventSchema, event))).toString("hex")).toBe(golden);
  });

  it("is read back, and only the whole ones of a file that ends anywhere", () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 40 }), { maxLength: 5 }), fc.nat(), (all, cut) => {
        const file = Buffer.concat(all.map(encodeRecord));
        const length = file.length === 0 ? 0 : cut % (file.length + 1);
        const read = [...recordsIn(file.subarray(0, length))].map((data) =>
          Buffer.from(data).toString("hex"),
        );
        const ends = all.map((_, index) => Buffer.concat(all.slice(0, index + 1).map(encodeRecord)).length);
        const whole = ends.filter((end) => end <= length).length;
        expect(read).toEqual(all.slice(0, whole).map((data) => Buffer.from(data).toString("hex")));
      }),
    );
  });

  it("is not read where a byte is another", () => {
    const file = encodeRecord(Buffer.from("a record"));
    for (let at = 0; at < file.length; at++) {
      const other = Uint8Array.from(file);
      other[at] = (other[at] as number) ^ 1;
      expect([...recordsIn(other)]).toEqual([]);
    }
  });
});
