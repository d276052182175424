/**
 * The checked inputs of a run. Arrays and handles are captured when the call is made, so that the caller may change
 * or dispose of them while the run waits.
 */
import type { RunInput } from "../contract/backend.js";
import type { HostTensor } from "../host/host-tensor.js";
import { copyTensor } from "./copy-of.js";
import type { HandleTable } from "./handle-table.js";
import type { Awaitable, FeedFunctions } from "./hooks.js";
import { type Storages, type Stored, withTruths } from "./storages.js";

type Given = readonly (readonly [input: string, value: RunInput])[];

/** Called once, when the run starts. Returns the operands: each is one use of its storage, which the run drops. */
export type Feed<T> = () => Awaitable<ReadonlyMap<string, T>>;

/** Feeds handles by their storages, and uploads host data into new storages. */
export function storageFeed<T>(
  given: Given,
  handles: HandleTable<Stored<T>>,
  storages: Storages<T>,
): Feed<T> {
  const operands = new Map<string, T>();
  const host: [string, HostTensor][] = [];
  for (const [name, value] of given) {
    const held = handles.find(value);
    if (held === undefined) host.push([name, value as HostTensor]);
    else operands.set(name, storages.pool.share(held.data));
  }
  if (host.length === 0) return () => operands;
  const uploading = storages.uploadAll(host);
  // The run rejects with this failure; until the run awaits it, it must not count as unhandled.
  uploading.catch(() => undefined);
  return async () => {
    try {
      for (const [name, { data }] of await uploading) operands.set(name, data);
      return operands;
    } catch (error) {
      storages.dropAll(operands.values());
      throw error;
    }
  };
}

/**
 * Writes inputs into the program's buffers: at once if `isNext` (no other run is before this one), otherwise from
 * copies when the run starts.
 */
export function bufferFeed<T>(
  given: Given,
  handles: HandleTable<Stored<T>>,
  storages: Storages<T>,
  functions: FeedFunctions<T>,
  isNext: boolean,
): Feed<T> {
  if (isNext) {
    for (const [name, value] of given) {
      const held = handles.find(value);
      storages.attempt("feed", () =>
        held === undefined
          ? functions.write(name, withTruths(value as HostTensor))
          : functions.copy(name, held.data),
      );
    }
    return nothingMore;
  }
  const copies = new Map<string, HostTensor>();
  const loans = new Map<string, T>();
  for (const [name, value] of given) {
    const held = handles.find(value);
    if (held === undefined) copies.set(name, copyTensor(withTruths(value as HostTensor)));
    else loans.set(name, storages.pool.share(held.data));
  }
  return () => {
    try {
      storages.attempt("feed", () => {
        for (const [name, tensor] of copies) functions.write(name, tensor);
        for (const [name, data] of loans) functions.copy(name, data);
      });
      return NOTHING;
    } finally {
      storages.dropAll(loans.values());
    }
  };
}

const NOTHING: ReadonlyMap<string, never> = new Map<string, never>();
const nothingMore = (): typeof NOTHING => NOTHING;
