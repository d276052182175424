import { MpError } from "@mp/graph";

/** The system's error code, such as "ENOSPC", if the error has one. */
export function errorCode(error: unknown): string | undefined {
  const code = error instanceof Error ? (error as NodeJS.ErrnoException).code : undefined;
  return typeof code === "string" ? code : undefined;
}

/** The installation or download that needs space, for messages. */
export interface SpaceNeed {
  /** The command, such as `mp-libtensorflow`. */
  readonly command: string;
  /** The space needed: `1.2 GB is needed`. */
  readonly space: string;
  /** The cache's place, and how to move it; default: that of installed libraries. */
  readonly cache?: string;
}

const CACHE = "the cache is under ~/.cache/mp, XDG_CACHE_HOME moves it";

/** The system's refusals with their remedies, by error code. */
const REFUSALS: Readonly<Record<string, string>> = {
  ENOSPC: "the disk is full; {space}, {cache}",
  EDQUOT: "the disk quota is used up; {space}, {cache}",
  EACCES: "permission denied; run as the folder's owner, {cache}",
  EPERM: "not permitted; run as the folder's owner, {cache}",
  EROFS: "the file system is read-only; {cache}",
  ENOTDIR: "a part of the path is a file, not a folder; {cache}",
  EEXIST: "something else is there; {cache}",
  ENOENT: "it does not exist",
  EISDIR: "it is a folder, a file is needed",
};

/** Turns the system's refusals into errors with a code and a remedy; returns every other error unchanged. */
export function fileFailure(error: unknown, { command, space, cache = CACHE }: SpaceNeed): unknown {
  const code = errorCode(error);
  const refusal = code === undefined ? undefined : REFUSALS[code];
  if (refusal === undefined || MpError.is(error)) return error;
  const { path, dest } = error as NodeJS.ErrnoException & { dest?: string };
  const place = dest ?? path ?? command;
  return new MpError("MP_IO", `${place}: ${refusal.replace("{space}", space).replace("{cache}", cache)}`, {
    details: { file: place, code },
    cause: error,
  });
}

/** @throws MP_IO if less than that is free on the folder's disk */
export function requireSpace(
  place: string,
  freeBytes: number,
  neededBytes: number,
  cache: string = CACHE,
): void {
  if (freeBytes >= neededBytes) return;
  const megabytes = (bytes: number) => `${Math.ceil(bytes / 1e6)} MB`;
  throw new MpError(
    "MP_IO",
    `${place}: ${megabytes(neededBytes)} is needed, ${megabytes(freeBytes)} is free; make room, ${cache}`,
    { details: { file: place, neededBytes, freeBytes } },
  );
}
