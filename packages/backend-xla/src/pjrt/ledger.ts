import { MpError } from "@mp/graph";

/** Counts what is not yet released, and frees it in the end. */
export class Ledger {
  readonly #live = new Map<Resource<unknown>, number>();
  #bytes = 0;

  /** Bytes of all live resources. */
  get bytes(): number {
    return this.#bytes;
  }

  add(resource: Resource<unknown>, bytes: number): void {
    this.#live.set(resource, bytes);
    this.#bytes += bytes;
  }

  remove(resource: Resource<unknown>): void {
    this.#bytes -= this.#live.get(resource) ?? 0;
    this.#live.delete(resource);
  }

  /** Releases all, the youngest first. */
  releaseAll(): void {
    for (const resource of [...this.#live.keys()].reverse()) resource.release();
  }
}

/** An object of the plugin, or one on each device, released once; the garbage collector is not involved. */
export abstract class Resource<H = bigint> {
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
    if (this.#handle === undefined)
      throw new MpError("MP_DISPOSED", `XLA: ${this.#what}: used after release`);
    return this.#handle;
  }

  /** @throws MP_DISPOSED on the second call */
  release(): void {
    const { handle } = this;
    this.#handle = undefined;
    this.#ledger.remove(this);
    this.free(handle);
  }

  protected abstract free(handle: H): void;
}
