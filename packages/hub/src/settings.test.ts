import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { type Environment, readSettings } from "./settings.js";

const home = mkdtempSync(join(tmpdir(), "mp-hub-home-"));
afterAll(() => rmSync(home, { recursive: true }));

// What huggingface_hub 2.4's constants are in these environments.
it.each<[Environment, string]>([
  [{}, join(homedir(), ".cache/huggingface/hub")],
  [{ XDG_CACHE_HOME: "/xdg" }, "/xdg/huggingface/hub"],
  [{ XDG_CACHE_HOME: "/xdg", HF_HOME: "~/hf" }, join(homedir(), "hf/hub")],
  [{ HF_HOME: "$BASE/hf", BASE: "/base" }, "/base/hf/hub"],
  [{ HF_HOME: "/hf", HUGGINGFACE_HUB_CACHE: "/old" }, "/old"],
  [
    { HUGGINGFACE_HUB_CACHE: "/old", HF_HUB_CACHE: ["/$", "{WHERE}/$NONE"].join(""), WHERE: "new" },
    "/new/$NONE",
  ],
])("finds the cache of %j", (environment, cache) => {
  expect(readSettings({}, environment).cache).toBe(cache);
});

it.each<[Environment, boolean]>([
  [{}, false],
  [{ HF_HUB_OFFLINE: "0" }, false],
  [{ HF_HUB_OFFLINE: "yes" }, true],
  [{ HF_HUB_OFFLINE: "", TRANSFORMERS_OFFLINE: "ON" }, true],
  [{ HF_HUB_OFFLINE: "0", TRANSFORMERS_OFFLINE: "1" }, false],
])("is offline with %j: %s", (environment, offline) => {
  expect(readSettings({}, environment).offline).toBe(offline);
});

it("finds the token, and the endpoint without its last slash", () => {
  writeFileSync(join(home, "token"), "stored\n");
  const token = (environment: Environment, given?: string | false) =>
    readSettings({ token: given }, { HF_HOME: home, ...environment }).token;
  expect(token({})).toBe("stored");
  expect(token({ HF_TOKEN: " set\r\n", HUGGING_FACE_HUB_TOKEN: "old" })).toBe("set");
  expect(token({ HF_TOKEN: "", HUGGING_FACE_HUB_TOKEN: "old" })).toBe("old");
  expect(token({ HF_TOKEN: "set" }, "given")).toBe("given");
  expect(token({ HF_TOKEN: "set" }, false)).toBeUndefined();
  expect(token({ HF_TOKEN: "set", HF_HUB_DISABLE_IMPLICIT_TOKEN: "1" })).toBeUndefined();
  expect(token({ HF_TOKEN_PATH: join(home, "none") })).toBeUndefined();
  expect(readSettings({}, { HF_ENDPOINT: "https://mirror.example/" }).endpoint).toBe(
    "https://mirror.example",
  );
});
