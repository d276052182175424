import { MpError } from "@mp/core";

/** Whether a device is still there: a driver's crash, an update or a laptop's lid ends it at any moment. */
export class LossWatch {
  readonly #lost: Promise<never>;
  #error: MpError | undefined;

  constructor(device: GPUDevice) {
    this.#lost = device.lost.then(({ reason, message }) => {
      this.#error = new MpError(
        "MP_BACKEND_FAILED",
        `ortWeb: the GPU was lost (${message === "" ? reason : message}), and with it all state on it. Open another backend and load the last checkpoint`,
        { details: { lost: reason } },
      );
      throw this.#error;
    });
    this.#lost.catch(() => undefined);
  }

  /** @throws MP_BACKEND_FAILED once the device is lost */
  expectAlive(): void {
    if (this.#error !== undefined) throw this.#error;
  }

  /**
   * What the device works on; that may never settle once the device is lost.
   * @throws MP_BACKEND_FAILED if it is lost before
   */
  async orLost<R>(work: Promise<R>): Promise<R> {
    try {
      return await Promise.race([work, this.#lost]);
    } catch (error) {
      // Work often fails a moment before the device says why.
      await Promise.resolve();
      this.expectAlive();
      throw error;
    }
  }
}
