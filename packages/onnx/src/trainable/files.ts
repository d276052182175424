import { MpError } from "@mp/graph";
import { quote } from "../problem.js";
import type { ReadExternalData } from "../read-external-data.js";

/** Reads the file at `path`; `externalData` reads files beside it. @throws MP_IO with path and errno */
export async function openModel(
  path: string,
): Promise<{ readonly bytes: Uint8Array; readonly externalData: ReadExternalData }> {
  const [files, { dirname, join, sep }] = await Promise.all([import("node:fs"), import("node:path")]);
  // Opening a pipe may wait forever, and reading a device may never end, so both are refused unopened.
  const expectRegular = (file: string): void => {
    const found = files.statSync(file);
    if (found.isFile()) return;
    throw Object.assign(new Error("no regular file"), { code: found.isDirectory() ? "EISDIR" : "ENOTREG" });
  };
  // Links are followed, even a link to the model, because caches keep model and data in one folder under other names.
  const expectBeside = (file: string): void => {
    const found = files.realpathSync(file);
    const folders = [files.realpathSync(dirname(path)), dirname(files.realpathSync(path))];
    if (folders.some((folder) => found.startsWith(folder.endsWith(sep) ? folder : `${folder}${sep}`))) return;
    throw new MpError(
      "MP_PARSE",
      `fromOnnx: the data in ${quote(file)} is a link out of the model's folder; copy the file itself there`,
      { details: { path: file } },
    );
  };
  const externalData: ReadExternalData = ({ location, offset, length }) => {
    const file = join(dirname(path), location);
    return reading(file, () => {
      expectBeside(file);
      expectRegular(file);
      const descriptor = files.openSync(file, "r");
      try {
        const rest = Math.max(0, files.fstatSync(descriptor).size - offset);
        // The length in the model may be wrong; `tensorFromProto` refuses a tensor with missing data.
        const data = allocate(file, Math.min(length ?? rest, rest));
        for (let done = 0; done < data.length; ) {
          const count = files.readSync(descriptor, data, done, data.length - done, offset + done);
          if (count === 0) break;
          done += count;
        }
        return data;
      } finally {
        files.closeSync(descriptor);
      }
    });
  };
  const bytes = reading(path, () => {
    expectRegular(path);
    return new Uint8Array(files.readFileSync(path));
  });
  return { bytes, externalData };
}

function allocate(file: string, bytes: number): Uint8Array {
  try {
    return new Uint8Array(bytes);
  } catch (cause) {
    throw new MpError(
      "MP_OUT_OF_MEMORY",
      `fromOnnx: a tensor in ${quote(file)} takes ${bytes} bytes, more than can be allocated at once`,
      { cause, details: { path: file, bytes } },
    );
  }
}

function reading<T>(path: string, read: () => T): T {
  try {
    return read();
  } catch (cause) {
    if (MpError.is(cause)) throw cause;
    const { code = "" } = cause as NodeJS.ErrnoException;
    throw new MpError("MP_IO", `fromOnnx: cannot read ${quote(path)}: ${code}`, {
      cause,
      details: { path, errno: code },
    });
  }
}
