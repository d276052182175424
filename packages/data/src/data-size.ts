import { invalid } from "./errors.js";

/** Beyond this a data set does not belong in one array. */
export const MOST_BYTES: number = 2 ** 31;

/**
 * @param what the message's subject and its remedy's object, as `imageFolder: 7 pictures of 8 bytes`
 * @throws MP_INVALID_ARGUMENT for more than 2 GiB
 */
export function checkBytes(what: string, sizeBytes: number, remedy: string): void {
  if (sizeBytes <= MOST_BYTES) return;
  throw invalid(`${what} is ${sizeBytes} bytes, the most is ${MOST_BYTES}; ${remedy}`, {
    sizeBytes,
    mostBytes: MOST_BYTES,
  });
}
