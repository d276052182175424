interface Stacks {
  sync_stack_size?: number;
  async_stack_size?: number;
}

/**
 * Size of koffi's stacks for native code. The default for asynchronous calls is 128 KiB, but a matrix product
 * needs more than 64 KiB (less crashes without a message). Pages of a stack cost nothing until touched.
 */
const STACK_BYTES = 8 * 1024 * 1024;

/** Asks koffi for larger stacks, which koffi accepts only before the process loads its first library. */
export function growStacks(koffi: { config(): Stacks; config(settings: Stacks): unknown }): void {
  const { sync_stack_size = 0, async_stack_size = 0 } = koffi.config();
  try {
    koffi.config({
      ...koffi.config(),
      sync_stack_size: Math.max(sync_stack_size, STACK_BYTES),
      async_stack_size: Math.max(async_stack_size, STACK_BYTES),
    });
  } catch {
    // Other code used koffi first, so that code's sizes are in effect.
  }
}
