import { MpError } from "@mp/graph";

type Reject = (error: MpError) => void;

/** Watches for the loss of a device, which a driver's crash, an update or a laptop's lid can cause at any moment. */
export class LossWatch {
  #error: MpError | undefined;
  /** Reject functions of unsettled work. (A race with one long-lived promise would keep every result.) */
  readonly #waiting = new Set<Reject>();

  constructor(device: GPUDevice) {
    void device.lost.then(({ reason, message }) => {
      this.#error = new MpError(
        "MP_BACKEND_FAILED",
        `ortWeb: the GPU was lost (${message === "" ? reason : message}), and with it all state on it. Open another backend and load the last checkpoint`,
        { details: { lost: reason } },
      );
      for (const reject of this.#waiting) reject(this.#error);
      this.#waiting.clear();
    });
  }

  /** @throws MP_BACKEND_FAILED if the device is lost */
  expectAlive(): void {
    if (this.#error !== undefined) throw this.#error;
  }

  /**
   * Waits for work on the device, which may never settle if the device is lost.
   * @throws MP_BACKEND_FAILED if the device is lost before the work is done
   */
  async orLost<R>(work: Promise<R>): Promise<R> {
    this.expectAlive();
    const { promise: lost, reject } = rejectable();
    this.#waiting.add(reject);
    try {
      return await Promise.race([work, lost]);
    } catch (error) {
      // Work often fails a moment before the device says why.
      await Promise.resolve();
      this.expectAlive();
      throw error;
    } finally {
      this.#waiting.delete(reject);
    }
  }
}

function rejectable(): { readonly promise: Promise<never>; readonly reject: Reject } {
  let reject: Reject = () => undefined;
  const promise = new Promise<never>((_, rejectIt) => {
    reject = rejectIt;
  });
  return { promise, reject };
}
