/** OrtAllocatorType of ordinary memory from an arena. */
export const ARENA_ALLOCATOR = 1;
export const DEFAULT_MEMORY = 0;
/** OrtAllocatorType of an execution provider's own memory. */
export const DEVICE_ALLOCATOR = 0;
