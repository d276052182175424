/** Remedies where the system refuses a file or folder, by its error code. */
const REMEDIES: Readonly<Record<string, string>> = {
  EACCES: "give this process the right to it, or name another place",
  EPERM: "give this process the right to it, or name another place",
  EROFS: "it is mounted read-only, name another place",
  ENOSPC: "the disk is full, make room on it or name a place on another",
  EDQUOT: "the quota is used up, make room or name a place on another disk",
  ENOENT: "check the path",
  ENOTDIR: "a part of the path is a file, name another place",
  EEXIST: "a file is in the way, name another place",
  EISDIR: "a folder is there, name a file",
  ENAMETOOLONG: "shorten the path",
  EMFILE: "close files, or raise the limit of open ones (ulimit -n)",
  EIO: "the disk reports a fault, name a place on another and check it",
};

/** The remedy for an error of the file system, for messages; `otherwise` for other errors. */
export const fileRemedy = (error: unknown, otherwise = "check the path and the rights to it"): string =>
  REMEDIES[String((error as { code?: unknown } | null)?.code)] ?? otherwise;
