import { int, type NodeWriter } from "@mp/onnx/write";

/** Largest number of parts of one Split: every WebGPU device grants a shader eight buffers; the operand needs one. */
const MOST_PARTS = 7;

const sum = (sizes: readonly number[]): number => sizes.reduce((all, size) => all + size, 0);

/** Splits an axis into parts of these sizes, by several Split nodes if there are more than `MOST_PARTS`. */
export function splitInSteps(
  x: string,
  axis: number,
  sizes: readonly number[],
  writer: NodeWriter,
): readonly string[] {
  const emit = (name: string, parts: readonly number[]): readonly string[] =>
    writer.emit("Split", [name, writer.ints(parts)], { axis: int(axis) }, { outputs: parts.length });
  if (sizes.length <= MOST_PARTS) return emit(x, sizes);
  let inGroup = MOST_PARTS;
  while (inGroup * MOST_PARTS < sizes.length) inGroup *= MOST_PARTS;
  const groups = Array.from({ length: Math.ceil(sizes.length / inGroup) }, (_, index) =>
    sizes.slice(index * inGroup, (index + 1) * inGroup),
  );
  return emit(x, groups.map(sum)).flatMap((group, index) => {
    const parts = groups[index] as readonly number[];
    return parts.length === 1 ? [group] : splitInSteps(group, axis, parts, writer);
  });
}
