import { int, type NodeWriter } from "@mp/onnx/write";

/** ONNX's number for uint32. */
const UINT32 = 12;

/** i32 as u32 of the same bits. */
export const toUnsigned = (x: string, writer: NodeWriter): string =>
  writer.one("Cast", [x], { to: int(UINT32) });
