import { MpError } from "@mp/graph";

/** Number of live resources, and bytes of tensor memory that they hold. */
export interface LiveStats {
  readonly live: number;
  readonly bytes: number;
}

/** Lists all resources that are not yet released: its count proves that nothing leaks, and it can free the rest. */
export class Ledger {
  readonly #live = new Map<NativeResource, number>();
  #bytes = 0;

  add(resource: NativeResource, bytes: number): void {
    this.#live.set(resource, bytes);
    this.#bytes += bytes;
  }

  remove(resource: NativeResource): void {
    this.#bytes -= this.#live.get(resource) ?? 0;
    this.#live.delete(resource);
  }

  stats(): LiveStats {
    return { live: this.#live.size, bytes: this.#bytes };
  }

  /** Resolves when nothing runs on another thread any more, even if runs fail. */
  async whenIdle(): Promise<void> {
    await Promise.all([...this.#live.keys()].map((resource) => resource.whenIdle()));
  }

  /** Releases all, the youngest first: a binding before its session, and a session before its allocator. */
  releaseAll(): void {
    for (const resource of [...this.#live.keys()].reverse()) {
      if (!resource.isReleased) resource.release();
    }
  }
}

/**
 * A handle of the C API that is released exactly once. The garbage collector is not involved: it does not see native
 * memory and would run too late.
 */
export abstract class NativeResource {
  readonly #what: string;
  readonly #ledger: Ledger;
  #handle: bigint | undefined;

  protected constructor(what: string, handle: bigint, ledger: Ledger, bytes = 0) {
    this.#what = what;
    this.#handle = handle;
    this.#ledger = ledger;
    ledger.add(this, bytes);
  }

  /** @throws MP_DISPOSED after release */
  get handle(): bigint {
    if (this.#handle === undefined) throw new MpError("MP_DISPOSED", `${this.#what}: used after release`);
    return this.#handle;
  }

  /** @throws MP_DISPOSED after release */
  assertUsable(): void {
    void this.handle;
  }

  get isReleased(): boolean {
    return this.#handle === undefined;
  }

  /** Releases the handle. @throws MP_DISPOSED on the second call */
  release(): void {
    if (this.#handle === undefined) throw new MpError("MP_DISPOSED", `${this.#what}: released twice`);
    const handle = this.#handle;
    this.assertIdle();
    this.#handle = undefined;
    this.#ledger.remove(this);
    this.free(handle);
  }

  /** Resolves when native code on another thread no longer uses the resource. */
  async whenIdle(): Promise<void> {}

  /** Overridden by resources that other threads may use. @throws MP_INVALID_ARGUMENT while native code uses it */
  protected assertIdle(): void {}

  protected abstract free(handle: bigint): void;
}
