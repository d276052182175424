import { MpError } from "../errors.js";

/** Number of live resources, and bytes of tensor memory that they hold. */
export interface LiveStats {
  readonly live: number;
  readonly bytes: number;
}

/** Tracks resources until they are released: their number shows leaks, and `releaseAll` frees them. */
export class Ledger {
  readonly #live = new Map<NativeResource<unknown>, number>();
  #bytes = 0;

  add(resource: NativeResource<unknown>, bytes: number): void {
    this.#live.set(resource, bytes);
    this.#bytes += bytes;
  }

  remove(resource: NativeResource<unknown>): void {
    this.#bytes -= this.#live.get(resource) ?? 0;
    this.#live.delete(resource);
  }

  stats(): LiveStats {
    return { live: this.#live.size, bytes: this.#bytes };
  }

  /** Resolves when no resource is in use on another thread any more, even if runs fail. */
  async whenIdle(): Promise<void> {
    await Promise.all([...this.#live.keys()].map((resource) => resource.whenIdle()));
  }

  /** Releases everything, youngest first: a binding before its session, a session before its allocator. */
  releaseAll(): void {
    for (const resource of [...this.#live.keys()].reverse()) {
      if (!resource.isReleased) resource.release();
    }
  }
}

/**
 * A handle of a C API that is released exactly once. The garbage collector does not release the handle, because it does
 * not see native memory and would run too late.
 */
export abstract class NativeResource<H = bigint> {
  readonly #what: string;
  readonly #ledger: Ledger;
  #handle: H | undefined;

  protected constructor(what: string, handle: H, ledger: Ledger, bytes = 0) {
    this.#what = what;
    this.#handle = handle;
    this.#ledger = ledger;
    ledger.add(this, bytes);
  }

  /** @throws MP_DISPOSED after release */
  get handle(): H {
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

  /** Overridden by resources that other threads may use. @throws MP_INVALID_ARGUMENT while one uses it */
  protected assertIdle(): void {}

  protected abstract free(handle: H): void;
}
