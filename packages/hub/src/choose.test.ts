import fc from "fast-check";
import { expect, it } from "vitest";
import { chooseFiles } from "./choose.js";

const name = fc
  .array(
    fc.stringMatching(/^[a-z.+()[\]^$|]{1,4}$/).filter((part) => !/^\.{1,2}$/.test(part)),
    {
      minLength: 1,
      maxLength: 3,
    },
  )
  .map((parts) => parts.join("/"));
const pathsOf = (paths: readonly string[], patterns?: readonly string[]) => {
  const { files, lacking } = chooseFiles(
    paths.map((path) => ({ path })),
    patterns,
  );
  return { files: files.map(({ path }) => path), lacking };
};

it("finds every name by itself, by its beginning and by its letters", () => {
  fc.assert(
    fc.property(fc.uniqueArray(name, { minLength: 1 }), fc.nat(), (paths, at) => {
      const path = paths[at % paths.length] as string;
      expect(pathsOf(paths, [path])).toEqual({ files: [path], lacking: [] });
      expect(pathsOf(paths, [`${path[0]}*`]).files).toEqual(paths.filter((other) => other[0] === path[0]));
      const masked = path.replace(/[^/]/g, "?");
      expect(pathsOf(paths, [masked]).files).toEqual(
        paths.filter(
          (other) => other.length === path.length && [...masked].every((c, i) => c === "?" || c === other[i]),
        ),
      );
      expect(pathsOf(paths).files).toEqual(paths);
    }),
  );
});

it("says which names no file has, and reads a slash at the end as all below", () => {
  expect(pathsOf(["a/b.json", "c"], ["a/", "*.bin", "c", "d"])).toEqual({
    files: ["a/b.json", "c"],
    lacking: ["d"],
  });
  expect(pathsOf(["a", "b"], ["*.jinja", "c/"])).toEqual({ files: [], lacking: ["*.jinja", "c/"] });
});
