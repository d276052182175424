import { expect, it } from "vitest";
import { kernelLibraries } from "./program-cache.js";

it("depends on the libraries with kernels that are loaded, each once", () => {
  const maps = [
    "7f01-7f02 r--p 00000000 08:01 1 /usr/lib/libcudnn.so.9.28.1",
    "7f02-7f03 r-xp 00001000 08:01 1 /usr/lib/libcudnn.so.9.28.1",
    // Left out: programs load it when they first need it, so a later process would not find the cached programs.
    "7f03-7f04 r-xp 00001000 08:01 2 /usr/lib/libcudnn_graph.so.9.28.1",
    "7f04-7f05 r-xp 00001000 08:01 3 /opt/cuda/lib/libcublas.so.13",
    "7f05-7f06 rw-p 00000000 00:00 0 [heap]",
  ];
  expect(kernelLibraries(maps)).toEqual(["/usr/lib/libcudnn.so.9.28.1", "/opt/cuda/lib/libcublas.so.13"]);
});
