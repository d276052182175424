/** OrtAllocatorType for ordinary memory from an arena. */
export const ARENA_ALLOCATOR = 1;
export const DEFAULT_MEMORY = 0;
/** OrtAllocatorType for a provider's own allocator. */
export const DEVICE_ALLOCATOR = 0;
