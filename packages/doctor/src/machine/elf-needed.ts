import { closeSync, openSync, readSync } from "node:fs";

const ELF64_LITTLE_ENDIAN = "7f454c460201";
const PT_LOAD = 1;
const PT_DYNAMIC = 2;
const DT_NEEDED = 1n;
const DT_STRTAB = 5n;
const DT_STRSZ = 10n;
/** Size limit of a section: names of libraries take kilobytes, but a damaged file may claim more. */
const MAX_SECTION_BYTES = 2 ** 24;

/**
 * The libraries that a shared library for Linux depends on: the entries DT_NEEDED of its dynamic section. Reads only
 * parts of the file, which may have hundreds of megabytes. Undefined if the file cannot be read, is damaged, or is
 * not a 64-bit ELF file.
 */
export function libraryDependencies(path: string): readonly string[] | undefined {
  try {
    const file = openSync(path, "r");
    try {
      return readDependencies((offset, size) => readAt(file, Number(offset), Number(size)));
    } finally {
      closeSync(file);
    }
  } catch {
    return undefined;
  }
}

type ReadAt = (offset: bigint | number, size: bigint | number) => Buffer;

function readAt(file: number, offset: number, size: number): Buffer {
  if (size > MAX_SECTION_BYTES) throw new Error(`a section of ${size} bytes`);
  const bytes = Buffer.alloc(size);
  if (readSync(file, bytes, 0, size, offset) !== size) throw new Error("the file ends early");
  return bytes;
}

function readDependencies(read: ReadAt): readonly string[] | undefined {
  const header = read(0, 64);
  if (header.toString("hex", 0, 6) !== ELF64_LITTLE_ENDIAN) return undefined;
  const [entrySize, count] = [header.readUInt16LE(54), header.readUInt16LE(56)];
  const table = read(header.readBigUInt64LE(32), entrySize * count);
  const segments = Array.from({ length: count }, (_, i) => {
    const at = i * entrySize;
    return {
      type: table.readUInt32LE(at),
      offset: table.readBigUInt64LE(at + 8),
      address: table.readBigUInt64LE(at + 16),
      size: table.readBigUInt64LE(at + 32),
    };
  });
  const dynamic = segments.find(({ type }) => type === PT_DYNAMIC);
  if (dynamic === undefined) return [];
  const section = read(dynamic.offset, dynamic.size);
  const entries = Array.from({ length: Math.floor(section.length / 16) }, (_, i) => ({
    tag: section.readBigUInt64LE(16 * i),
    value: section.readBigUInt64LE(16 * i + 8),
  }));
  const entry = (wanted: bigint) => entries.find(({ tag }) => tag === wanted)?.value;
  const [address, size] = [entry(DT_STRTAB), entry(DT_STRSZ)];
  if (address === undefined || size === undefined) return [];
  const home = segments.find(
    (segment) =>
      segment.type === PT_LOAD && address >= segment.address && address < segment.address + segment.size,
  );
  const names = read(home === undefined ? address : home.offset + address - home.address, size);
  return entries
    .filter(({ tag }) => tag === DT_NEEDED)
    .map(({ value }) => names.toString("utf8", Number(value), names.indexOf(0, Number(value))));
}
