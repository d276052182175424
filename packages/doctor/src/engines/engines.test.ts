import { expect, it } from "vitest";
import type { Nvidia } from "../machine/nvidia.js";
import { CUDA_NEEDS, nvidiaFinding } from "./cuda.js";
import { engineFinding, type FoundEngine, nodeProblems } from "./find-engine.js";

const library = (name: string, version: string) => ({ name, version, folder: "/nowhere" });
const tensorFlow: FoundEngine = {
  name: "tfjs",
  backend: undefined,
  libraries: [library("@tensorflow/tfjs-node", "4.22.0")],
};
const ort: FoundEngine = {
  name: "ort",
  backend: undefined,
  libraries: [library("onnxruntime-node", "1.30.0")],
};
const none = { cudart: [], cublas: [], cudnn: [] };
const gpu: Nvidia = { devices: ["NVIDIA H200"], driver: "570.1", found: none };

it("an engine that is missing in part is described with the line that installs it for that shell", () => {
  expect(engineFinding(ort, "linux")).toMatchObject({
    status: "missing",
    text: "not installed here: @mp/backend-ort (found: onnxruntime-node 1.30.0)",
    remedy: "ONNXRUNTIME_NODE_INSTALL=skip npm install @mp/core @mp/backend-ort onnxruntime-node",
  });
  expect(engineFinding(ort, "win32").remedy).toMatch(/^\$env:ONNXRUNTIME_NODE_INSTALL="skip"; npm install /);
});

it("a Node is too new for a release of tfjs-node, and not for a later one", () => {
  expect(nodeProblems(tensorFlow, "22.11.0")).toEqual([]);
  const [problem] = nodeProblems(tensorFlow, "23.0.0");
  expect(problem?.text).toMatch(/^Node 23.0.0 is too new for @tensorflow\/tfjs-node 4.22.0/);
  expect(problem?.remedy).toMatch(/restoreNodeUtil/);
  const later = { ...tensorFlow, libraries: [library("@tensorflow/tfjs-node", "4.23.0")] };
  expect(nodeProblems(later, "23.0.0")).toEqual([]);
  expect(nodeProblems(ort, "30.0.0")).toEqual([]);
});

it("without a device nothing of CUDA is needed", () => {
  const nothing: Nvidia = { devices: [], driver: undefined, found: none };
  expect(nvidiaFinding(nothing).status).toBe("note");
  expect(CUDA_NEEDS.ort(ort, nothing, undefined)).toBeUndefined();
  expect(CUDA_NEEDS.tfjs(tensorFlow, nothing, "2.21.0")).toBeUndefined();
});

it("with a device, what an engine was built for is compared with what is there", () => {
  const needed = CUDA_NEEDS.tfjs(tensorFlow, gpu, "2.21.0");
  expect(needed).toMatchObject({
    status: "problem",
    text: "needs cudart 12, cublas 12, cudnn 9; not found: cudart 12, cublas 12, cudnn 9",
    remedy: "install CUDA 12 and cuDNN 9 where the loader finds them (LD_LIBRARY_PATH)",
  });
  const found = { cudart: [11, 12], cublas: [12], cudnn: [8, 9] };
  expect(CUDA_NEEDS.tfjs(tensorFlow, { ...gpu, found }, "2.21.0")?.status).toBe("ok");
  expect(CUDA_NEEDS.tfjs(tensorFlow, { ...gpu, found }, "2.9.1")?.text).toMatch(/not found: cublas 11$/);
});
