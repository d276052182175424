// The header of a safetensors file, read exactly as specified. The reference implementation is less strict: it accepts
// duplicate keys, unknown fields and bytes before the opening brace.
import { byteLength, expectDType, type SafetensorsDType } from "./dtypes.js";
import { HeaderScanner } from "./header-scanner.js";
import { defaultLimits, type SafetensorsLimits } from "./limits.js";
import { formatShape, quote, refuse, refuseArgument, type SafetensorsProblem } from "./problem.js";

/** Bytes before the header, which hold its length as a little-endian u64. */
export const LENGTH_BYTES = 8;
export const METADATA_KEY = "__metadata__";

export interface SafetensorsEntry {
  readonly dtype: SafetensorsDType;
  readonly shape: readonly number[];
  /** Offset of the first byte in the file. */
  readonly begin: number;
  /** Offset after the last byte in the file. */
  readonly end: number;
}

export interface SafetensorsHeader {
  /** Tensors by name, in the order of the header. */
  readonly tensors: ReadonlyMap<string, SafetensorsEntry>;
  readonly metadata: ReadonlyMap<string, string>;
  /** Offset of the tensors' bytes in the file. */
  readonly dataOffset: number;
}

/**
 * Returns the length of the header in bytes, from the first eight bytes of a file. Checks it against the limit and the
 * file's length, so that a reader can allocate it safely.
 * @throws SAFETENSORS_PARSE file-too-short, header-too-large, header-beyond-file
 */
export function headerLength(prefix: Uint8Array, fileLength: number, limits: SafetensorsLimits = {}): number {
  if (prefix.length < LENGTH_BYTES || fileLength < LENGTH_BYTES) {
    const problem = `${fileLength} bytes are fewer than the 8 of the header's length`;
    refuse("file-too-short", problem, { fileLength });
  }
  const view = new DataView(prefix.buffer, prefix.byteOffset, LENGTH_BYTES);
  const declared = view.getBigUint64(0, true);
  const cap = limits.maxHeaderBytes ?? defaultLimits.maxHeaderBytes;
  if (declared > BigInt(cap)) {
    // The first bytes of a text, an archive or a program are not a valid length.
    const problem =
      declared > BigInt(fileLength)
        ? `the file is no safetensors file: its first 8 bytes are no header's length`
        : `a header of ${declared} bytes is above the limit of ${cap}`;
    refuse("header-too-large", problem, { headerBytes: String(declared), maxHeaderBytes: cap });
  }
  const length = Number(declared);
  if (length > fileLength - LENGTH_BYTES) {
    const problem = `a header of ${length} bytes does not fit a file of ${fileLength}`;
    refuse("header-beyond-file", problem, { headerBytes: length, fileLength });
  }
  return length;
}

/**
 * Reads and checks a header, whose tensors must fill the file exactly. `bytes` are the first bytes of the file, at least
 * to the end of the header.
 * @throws SAFETENSORS_PARSE with `details.problem`, SAFETENSORS_INVALID_ARGUMENT for `bytes` that end earlier
 */
export function parseHeader(
  bytes: Uint8Array,
  fileLength: number,
  limits: SafetensorsLimits = {},
): SafetensorsHeader {
  const length = headerLength(bytes, fileLength, limits);
  const dataOffset = LENGTH_BYTES + length;
  if (bytes.length < dataOffset) {
    refuseArgument(`parseHeader: the header ends at byte ${dataOffset}, got the first ${bytes.length} bytes`);
  }
  const { maxEntries, maxDimensions, maxDataBytes } = { ...defaultLimits, ...limits };
  const scanner = new HeaderScanner(bytes.subarray(LENGTH_BYTES, dataOffset), LENGTH_BYTES);
  if (bytes[LENGTH_BYTES] !== "{".charCodeAt(0) || length === 0) {
    scanner.fail("a header starts with {", "header-start");
  }
  const tensors = new Map<string, SafetensorsEntry>();
  let metadata: ReadonlyMap<string, string> = new Map();
  scanner.members((name) => {
    if (name === METADATA_KEY) metadata = scanMetadata(scanner, maxEntries);
    else if (tensors.size === maxEntries) {
      scanner.fail(`more than ${maxEntries} tensors`, "too-many-entries");
    } else tensors.set(name, scanEntry(scanner, name, maxDimensions, dataOffset));
  });
  scanner.end();
  checkLayout(tensors, dataOffset, fileLength);
  if (fileLength - dataOffset > maxDataBytes) {
    refuse(
      "too-much-data",
      `${fileLength - dataOffset} bytes of tensors are above the limit of ${maxDataBytes}`,
    );
  }
  return { tensors, metadata, dataOffset };
}

function scanMetadata(scanner: HeaderScanner, maxEntries: number): ReadonlyMap<string, string> {
  const metadata = new Map<string, string>();
  scanner.members((key) => {
    if (metadata.size === maxEntries) {
      scanner.fail(`more than ${maxEntries} metadata entries`, "too-many-entries");
    }
    metadata.set(key, scanner.string());
  });
  return metadata;
}

function scanEntry(
  scanner: HeaderScanner,
  name: string,
  maxDimensions: number,
  dataOffset: number,
): SafetensorsEntry {
  let dtype: SafetensorsDType | undefined;
  let shape: number[] | undefined;
  let offsets: number[] | undefined;
  scanner.members((field) => {
    const integers = (limit: number, problem: SafetensorsProblem): number[] => {
      const values: number[] = [];
      scanner.elements(() => {
        if (values.length === limit)
          scanner.fail(`tensor ${quote(name)}'s ${field} has more than ${limit} numbers`, problem);
        values.push(scanner.integer());
      });
      return values;
    };
    if (field === "dtype") dtype = expectDType(scanner.string(), name);
    else if (field === "shape") shape = integers(maxDimensions, "too-many-dimensions");
    else if (field === "data_offsets") offsets = integers(2, "invalid-offsets");
    else scanner.fail(`tensor ${quote(name)} has the unknown field ${quote(field)}`, "unknown-field");
  });
  if (dtype === undefined || shape === undefined || offsets === undefined) {
    return scanner.fail(`tensor ${quote(name)} lacks dtype, shape or data_offsets`, "missing-field");
  }
  const [begin, end] = offsets;
  if (begin === undefined || end === undefined || begin > end) {
    const problem = `tensor ${quote(name)}'s data_offsets are ${formatShape(offsets)}`;
    return refuse("invalid-offsets", problem, { tensor: name });
  }
  const size = byteLength(shape, dtype);
  if (size === undefined) {
    const problem = `tensor ${quote(name)} of shape ${formatShape(shape)} is too large`;
    return refuse("number-too-large", problem, { tensor: name });
  }
  if (size !== end - begin) {
    refuse(
      "size-mismatch",
      `tensor ${quote(name)}, ${dtype} ${formatShape(shape)}, takes ${size} bytes, its data_offsets span ${end - begin}`,
      { tensor: name, expectedBytes: size, actualBytes: end - begin },
    );
  }
  return { dtype, shape: Object.freeze(shape), begin: dataOffset + begin, end: dataOffset + end };
}

/** Checks that tensors fill the file without gaps, from the end of the header to the end of the file. */
function checkLayout(
  tensors: ReadonlyMap<string, SafetensorsEntry>,
  dataOffset: number,
  fileLength: number,
): void {
  const inOrder = [...tensors].sort(([, a], [, b]) => a.begin - b.begin || a.end - b.end);
  let position = dataOffset;
  let previous = "the header";
  for (const [name, { begin, end }] of inOrder) {
    if (begin !== position) {
      const [problem, what] =
        begin < position ? (["overlap", "overlaps"] as const) : (["hole", "leaves a hole after"] as const);
      refuse(
        problem,
        `tensor ${quote(name)} at byte ${begin} ${what} ${previous}, which ends at byte ${position}`,
        { tensor: name, begin, expectedBegin: position },
      );
    }
    position = end;
    previous = `tensor ${quote(name)}`;
  }
  if (position > fileLength) {
    const problem = `the tensors end at byte ${position}, the file at ${fileLength}: it is cut short`;
    refuse("data-missing", problem, { expectedBytes: position, fileLength });
  }
  if (position < fileLength) {
    const problem = `${fileLength - position} bytes follow the last tensor`;
    refuse("data-left-over", problem, { expectedBytes: position, fileLength });
  }
}
