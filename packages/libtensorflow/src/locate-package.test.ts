import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { removeScratch, scratch } from "@mp/wheels/scratch";
import { afterEach, expect, it } from "vitest";
import { fakeTfjsNode } from "../test/fixtures/fake-tfjs-node.js";
import { LIBRARY_COMMAND, libraryCommand, locatePackage, packagesFor } from "./locate-package.js";

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

it("names npx's command without fetching where installed, and a file that exists in a checkout", () => {
  const installed = "file:///app/node_modules/@mp/libtensorflow/dist/index.js";
  expect(libraryCommand(installed)).toBe("npx --no mp-libtensorflow");
  const [program, file, ...others] = LIBRARY_COMMAND.split(" ");
  expect([program, others]).toEqual(["node", []]);
  expect(existsSync(file as string)).toBe(true);
});
