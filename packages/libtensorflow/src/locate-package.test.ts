import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { removeScratch, scratch } from "@mp/wheels/scratch";
import { afterEach, expect, it } from "vitest";
import { fakeTfjsNode } from "../test/fixtures/fake-tfjs-node.js";
import { locatePackage, packagesFor } from "./locate-package.js";

afterEach(removeScratch);

it("walks up from the folder, and takes the better name of one place first", () => {
  const root = scratch();
  const folders = [fakeTfjsNode(root), fakeTfjsNode(root, "@tensorflow/tfjs-node-gpu")];
  mkdirSync(join(root, "src", "deep"), { recursive: true });
  const from = [join(root, "src", "deep")];
  expect(locatePackage(packagesFor("cpu"), from)?.folder).toBe(folders[0]);
  expect(locatePackage(packagesFor("cuda"), from)?.folder).toBe(folders[1]);
  expect(locatePackage(packagesFor("cpu"), [scratch()])).toBeUndefined();
});
