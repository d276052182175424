import { invalid } from "./errors.js";

/** Largest number of bytes of a data set that is held in one array. */
export const MOST_BYTES: number = 2 ** 31;

/**
 * @param what the subject of the error message, such as `imageFolder: 7 pictures of 8 bytes`
 * @throws MP_INVALID_ARGUMENT for more than 2 GiB
 */
export function checkBytes(what: string, sizeBytes: number, remedy: string): void {
  if (sizeBytes <= MOST_BYTES) return;
  throw invalid(`${what} is ${sizeBytes} bytes, the most is ${MOST_BYTES}; ${remedy}`, {
    sizeBytes,
    mostBytes: MOST_BYTES,
  });
}
