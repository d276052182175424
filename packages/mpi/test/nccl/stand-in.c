/* A stand-in for NCCL and CUDA's runtime: "GPUs" whose memory is the host's, and whose sums are made once all ranks of a
 * communicator have asked for theirs. It counts what it has given out, and fails where a test tells it to. */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_RANKS = 8, MOST_GROUPS = 64, NOT_READY = 600 };

typedef struct { unsigned char internal[128]; } UniqueId;
typedef struct { int busy; } Stream;
typedef struct { float *values; size_t count; Stream *stream; } Asked;
typedef struct { UniqueId id; int size; int asked; Asked by[MOST_RANKS]; } Group;
typedef struct { Group *group; int rank; } Comm;

static Group groups[MOST_GROUPS];
static int group_count, live, ids, aborted;
static int devices = 2, version = 22304, fail_code, hangs;

int standin_live(void) { return live; }
int standin_aborted(void) { return aborted; }
void standin_set(int new_devices, int new_version, int new_fail_code, int new_hangs) {
  devices = new_devices;
  version = new_version;
  fail_code = new_fail_code;
  hangs = new_hangs;
}

int cudaGetDeviceCount(int *count) { *count = devices; return 0; }
int cudaSetDevice(int device) { return device < devices ? 0 : 101; }
int cudaMalloc(void **address, size_t bytes) {
  if (bytes > (size_t)1 << 30) return 2;
  *address = malloc(bytes);
  live++;
  return 0;
}
int cudaFree(void *address) { free(address); live--; return 0; }
int cudaMemcpyAsync(void *to, const void *from, size_t bytes, int kind, Stream *stream) {
  if (stream->busy || kind < 1 || kind > 2) return 1;
  memcpy(to, from, bytes);
  return 0;
}
int cudaStreamCreateWithFlags(Stream **stream, unsigned flags) {
  if (flags != 1) return 1;
  *stream = calloc(1, sizeof(Stream));
  live++;
  return 0;
}
int cudaStreamQuery(Stream *stream) { return stream->busy ? NOT_READY : 0; }
int cudaStreamDestroy(Stream *stream) { free(stream); live--; return 0; }
const char *cudaGetErrorString(int code) { return code == 2 ? "out of memory" : "a CUDA error"; }

int ncclGetVersion(int *out) { *out = version; return 0; }
int ncclGetUniqueId(UniqueId *id) {
  memset(id, 0, sizeof *id);
  id->internal[0] = (unsigned char)++ids;
  id->internal[127] = 77;
  return 0;
}
int ncclCommInitRank(Comm **out, int size, UniqueId id, int rank) {
  if (id.internal[127] != 77 || rank >= size || size > MOST_RANKS) return 4;
  Group *group = NULL;
  for (int at = 0; at < group_count; at++)
    if (memcmp(&groups[at].id, &id, sizeof id) == 0) group = &groups[at];
  if (group == NULL) {
    if (group_count == MOST_GROUPS) return 3;
    group = &groups[group_count++];
    memset(group, 0, sizeof *group);
    group->id = id;
    group->size = size;
  }
  *out = malloc(sizeof(Comm));
  (*out)->group = group;
  (*out)->rank = rank;
  live++;
  return 0;
}
int ncclAllReduce(const void *send, void *receive, size_t count, int type, int operation, Comm *comm, Stream *stream) {
  if (fail_code != 0) return fail_code;
  if (type != 7 || operation != 0 || send != receive) return 4;
  Group *group = comm->group;
  Asked asked = {receive, count, stream};
  group->by[comm->rank] = asked;
  stream->busy = 1;
  if (++group->asked < group->size || hangs) return 0;
  for (size_t at = 0; at < count; at++) {
    float sum = group->by[0].values[at];
    for (int rank = 1; rank < group->size; rank++) sum += group->by[rank].values[at];
    for (int rank = 0; rank < group->size; rank++) group->by[rank].values[at] = sum;
  }
  for (int rank = 0; rank < group->size; rank++) group->by[rank].stream->busy = 0;
  group->asked = 0;
  return 0;
}
int ncclCommGetAsyncError(Comm *comm, int *code) { (void)comm; *code = 0; return 0; }
int ncclCommAbort(Comm *comm) { free(comm); live--; aborted++; return 0; }
int ncclCommDestroy(Comm *comm) { free(comm); live--; return 0; }
const char *ncclGetErrorString(int code) { return code == 3 ? "internal error" : "an NCCL error"; }
