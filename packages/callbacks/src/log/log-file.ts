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
import { fileRemedy } from "@mp/graph/internal";

/** The whole lines of a file, and the partial line after them that a killed process may leave. */
export interface LogContent {
  readonly lines: readonly string[];
  readonly half: string;
}

/**
 * A file to which lines are appended. A killed process leaves whole lines, and at worst a partial last line,
 * which `replace` removes when the file is opened again.
 */
export class LogFile {
  readonly #path: string;
  #file: number | undefined;
  #content: string | undefined;

  constructor(path: string) {
    this.#path = path;
  }

  /** Reads the file; a missing one is empty. @throws MP_IO */
  read(): LogContent {
    prepareFile(this.#path);
    const text = attempt(this.#path, "read", () => {
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

  /** Replaces the content atomically: at any moment the file has the old lines or the new. @throws MP_IO */
  replace(lines: readonly string[]): void {
    this.close();
    const content = lines.map((line) => `${line}\n`).join("");
    const isSame = content === this.#content;
    this.#content = undefined;
    if (isSame) return;
    const temporary = `${this.#path}.${process.pid}.tmp`;
    attempt(this.#path, "written", () => {
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
    attempt(this.#path, "written", () => {
      this.#file ??= openSync(this.#path, "a");
      writeWhole(this.#file, Buffer.from(`${line}\n`));
    });
  }

  close(): void {
    if (this.#file !== undefined) closeSync(this.#file);
    this.#file = undefined;
  }
}

/** Makes the folder of a file. Checks that it is writable, and that the path is not a folder. @throws MP_IO */
export function prepareFile(path: string): void {
  attempt(path, "written", () => {
    const folder = dirname(path);
    mkdirSync(folder, { recursive: true });
    accessSync(folder, constants.W_OK);
    if (statSync(path, { throwIfNoEntry: false })?.isDirectory() === true)
      throw Object.assign(new Error("it is a folder"), { code: "EISDIR" });
  });
}

/** Whether `half`, the end of a file without a line end, is part of a line that begins with `beginning`. */
export function isPartialLine(half: string, beginning: string): boolean {
  return half.startsWith(beginning) || beginning.startsWith(half);
}

/** Writes all bytes, in several calls if the system takes fewer than it is given. */
export function writeWhole(file: number, bytes: Uint8Array): void {
  for (let at = 0; at < bytes.length; ) at += writeSync(file, bytes, at);
}

/** Runs an action on a file or folder. @throws MP_IO with the message "… cannot be read", where `done` is "read" */
export function attempt<T>(path: string, done: string, action: () => T): T {
  try {
    return action();
  } catch (error) {
    throw notDone(path, done, error);
  }
}

/** The error for a file or folder that cannot be `done`, such as `read` or `written`. */
export function notDone(path: string, done: string, error: unknown): MpError<"MP_IO"> {
  const { code = "", message } = error as NodeJS.ErrnoException;
  return new MpError("MP_IO", `${path} cannot be ${done}: ${message}; ${fileRemedy(error)}`, {
    cause: error,
    details: { path, code },
  });
}
