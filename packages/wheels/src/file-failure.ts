import { MpError } from "@mp/graph";
import { fileRemedy } from "@mp/graph/internal";

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
  /** Text about the cache's place and how to move it; default: for the cache of installed libraries. */
  readonly cache?: string;
}

const CACHE = "the cache is under ~/.cache/mp, XDG_CACHE_HOME moves it";

/** Turns a system error that has a remedy into MP_IO with it; returns every other error unchanged. */
export function fileFailure(error: unknown, { command, space, cache = CACHE }: SpaceNeed): unknown {
  const remedy = fileRemedy(error, "");
  if (remedy === "" || MpError.is(error)) return error;
  const { code, path, dest } = error as NodeJS.ErrnoException & { dest?: string };
  const place = dest ?? path ?? command;
  const needed = code === "ENOSPC" || code === "EDQUOT" ? `${space}, ` : "";
  return new MpError("MP_IO", `${place}: ${code}, ${remedy}; ${needed}${cache}`, {
    details: { file: place, code },
    cause: error,
  });
}

/** Checks the free space on the disk of `place`. @throws MP_IO if `freeBytes` is less than `neededBytes` */
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
