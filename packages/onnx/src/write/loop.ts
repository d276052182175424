import { type GraphInput, zeros } from "@mp/graph";
import { type Invariant, invariantsToMetadata } from "../invariants.js";
import { COUNTED_KEY, SAVED_KEY } from "../metadata-keys.js";
import { int, ints, type OnnxValueInfo } from "../model.js";
import type { Lowering } from "./lowering.js";

/**
 * Writes ONNX's Scan, which has the same carries and sequences; its body reads invariants by their names in
 * the outer graph. ONNX requires a sequence, so a scan without one gets bytes that no node reads.
 */
export const scan: Lowering<"Scan"> = (node, operands, writer) => {
  const { body, carries, sequences, length, reverse, saved } = node.attributes;
  const own = carries + sequences;
  const given = operands.slice(own);
  const isCounted = sequences === 0;
  const written = writer.body(body, given);
  const counter: OnnxValueInfo = {
    name: isCounted ? writer.unread("element") : "",
    type: { elementType: "u8", shape: [] },
    metadata: {},
  };
  const directions = (count: number) => ints(Array<number>(count).fill(1));
  const stacked = body.outputs.length - carries;
  const invariants = given.map((outer, index): Invariant => {
    const { name, role } = body.inputs[own + index] as GraphInput;
    return [outer, name, role];
  });
  return writer.emit(
    "Scan",
    [...operands.slice(0, own), ...(isCounted ? [writer.initializer(zeros([length], "u8"))] : [])],
    {
      body: {
        kind: "graph",
        value: isCounted ? { ...written, inputs: [...written.inputs, counter] } : written,
      },
      num_scan_inputs: int(isCounted ? 1 : sequences),
      ...(reverse ? { scan_input_directions: directions(isCounted ? 1 : sequences) } : {}),
      ...(reverse && stacked > 0 ? { scan_output_directions: directions(stacked) } : {}),
    },
    {
      outputs: node.outputs.length,
      metadata: {
        ...(saved === 0 ? {} : { [SAVED_KEY]: String(saved) }),
        ...(isCounted ? { [COUNTED_KEY]: "1" } : {}),
        ...invariantsToMetadata(invariants),
      },
    },
  );
};
