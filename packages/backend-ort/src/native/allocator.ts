/** OrtAllocatorType and OrtMemType of ordinary memory from an arena. */
export const ARENA_ALLOCATOR = 1;
export const DEFAULT_MEMORY = 0;
/** OrtAllocatorType of a provider's own allocator. */
export const DEVICE_ALLOCATOR = 0;
