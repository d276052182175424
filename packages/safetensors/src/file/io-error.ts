import { SafetensorsError } from "../errors.js";
import { errorNumber } from "./file-system.js";

const remedies: Readonly<Record<string, string>> = {
  EACCES: "give this process the right to that file and its directory",
  EPERM: "give this process the right to that file and its directory",
  EROFS: "choose a directory that is not mounted read-only",
  ENOENT: "there is no such file or directory, check the path",
  ENOTDIR: "a part of the path is a file, choose another",
  EISDIR: "the path is a directory, name a file",
  ENOSPC: "free space on that disk or choose another",
  EDQUOT: "free space under your quota or choose another disk",
  EFBIG: "the file system does not hold files that large, choose another",
  ENAMETOOLONG: "shorten the file's name or its path",
  EMFILE: "close files or raise the limit of open files (ulimit -n)",
  ENFILE: "close files or raise the system's limit of open files",
  EIO: "the disk reports a fault, save elsewhere and check it",
  EBUSY: "another program holds the file, close it",
};

/** Wraps a system call's error as SAFETENSORS_IO with path, errno and remedy; returns others unchanged. */
export function ioError(
  error: unknown,
  action: string,
  path: string,
  details: Readonly<Record<string, unknown>> = {},
): unknown {
  const errno = errorNumber(error);
  if (errno === undefined) return error;
  const remedy = remedies[errno] ?? (error as Error).message;
  return new SafetensorsError("SAFETENSORS_IO", `${action} ${path} failed with ${errno}: ${remedy}`, {
    cause: error,
    details: { path, errno, ...details },
  });
}
