import {
  accessSync,
  closeSync,
  constants,
  fstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { dirname } from "node:path";
import { MpError } from "@mp/core";

/**
 * A file of lines that is only appended to while it is open. Each line is written whole by one call of the system before
 * the next step begins: a process that is killed leaves whole lines, or at worst half of the last one, which the next
 * `open` removes.
 */
export class LogFile {
  readonly #path: string;
  #file: number | undefined;
  #content: string | undefined;

  constructor(path: string) {
    this.#path = path;
  }

  /** The whole lines that the file has, and half a line after them; none where there is no file. @throws MP_IO */
  read(): { readonly lines: readonly string[]; readonly half: string } {
    prepareFile(this.#path);
    const text = this.#attempt("read", () => {
      const file = openSync(this.#path, "a+");
      try {
        if (!fstatSync(file).isFile()) throw new Error("it is no regular file");
        return readFileSync(this.#path, "utf8");
      } finally {
        closeSync(file);
      }
    });
    this.#content = text;
    const lines = text.split("\n");
    return { lines: lines.slice(0, -1), half: lines.at(-1) ?? "" };
  }

  /**
   * Replaces what was read at once, so that at any moment the file has the old lines or the new.
   * @throws MP_IO
   */
  replace(lines: readonly string[]): void {
    this.close();
    const content = lines.map((line) => `${line}\n`).join("");
    const isSame = content === this.#content;
    this.#content = undefined;
    if (isSame) return;
    const temporary = `${this.#path}.${process.pid}.tmp`;
    this.#attempt("written", () => {
      try {
        writeFileSync(temporary, content);
        renameSync(temporary, this.#path);
      } catch (error) {
        rmSync(temporary, { force: true });
        throw error;
      }
    });
  }

  /** @throws MP_IO */
  append(line: string): void {
    this.#attempt("written", () => {
      this.#file ??= openSync(this.#path, "a");
      writeWhole(this.#file, Buffer.from(`${line}\n`));
    });
  }

  close(): void {
    if (this.#file !== undefined) closeSync(this.#file);
    this.#file = undefined;
  }

  #attempt<T>(what: string, action: () => T): T {
    try {
      return action();
    } catch (error) {
      throw notDone(this.#path, what, error);
    }
  }
}

/** Makes the folder of a file that will be written; it must take files, and the path be no folder. @throws MP_IO */
export function prepareFile(path: string): void {
  const folder = dirname(path);
  try {
    mkdirSync(folder, { recursive: true });
    accessSync(folder, constants.W_OK);
    if (statSync(path, { throwIfNoEntry: false })?.isDirectory() === true)
      throw Object.assign(new Error("it is a folder, name a file"), { code: "EISDIR" });
  } catch (error) {
    throw notDone(path, "written", error);
  }
}

/** Whether half a line is the beginning of one that begins so. */
export function isHalfOf(half: string, beginning: string): boolean {
  return half.startsWith(beginning) || beginning.startsWith(half);
}

/** Also where the system takes fewer bytes than it is given. */
export function writeWhole(file: number, bytes: Uint8Array): void {
  for (let at = 0; at < bytes.length; ) at += writeSync(file, bytes, at);
}

/** The error for a file that the system does not let be read or written. */
export function notDone(path: string, what: string, error: unknown): MpError<"MP_IO"> {
  const { code = "", message } = error as NodeJS.ErrnoException;
  return new MpError("MP_IO", `${path} cannot be ${what}: ${message}`, {
    cause: error,
    details: { path, code },
  });
}
