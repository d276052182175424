interface Stacks {
  sync_stack_size?: number;
  async_stack_size?: number;
}

/** koffi's settings, without koffi. */
interface Configured {
  config(): Stacks;
  config(settings: Stacks): unknown;
}

/**
 * koffi runs native code on its own stacks, 128 KiB for an asynchronous call. A matrix product needs more than 64 KiB
 * (measured: a crash without a message), so the margin is thin. Pages of a stack cost nothing until touched.
 */
const STACK_BYTES = 8 * 1024 * 1024;

/** Asks koffi for larger stacks. It takes them only before the process loads its first library; after that they stay. */
export function growStacks(koffi: Configured): void {
  const { sync_stack_size = 0, async_stack_size = 0 } = koffi.config();
  try {
    koffi.config({
      ...koffi.config(),
      sync_stack_size: Math.max(sync_stack_size, STACK_BYTES),
      async_stack_size: Math.max(async_stack_size, STACK_BYTES),
    });
  } catch {
    // Other code used koffi first: its sizes are in effect.
  }
}
