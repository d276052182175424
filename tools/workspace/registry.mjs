/** Runs an npm registry on this machine, empty at first and removed when it is stopped; it asks no other registry. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fail } from "./fail.mjs";
import { root } from "./packages.mjs";

/** Verdaccio's own command wants the number of a port that is free; this takes any, and sends its number. */
const PROGRAM = `require("verdaccio").runServer("verdaccio.yaml").then((server) =>
  server.listen(0, "127.0.0.1", () => process.send(server.address().port)));`;

/**
 * @param {string} folder an existing one, for its files
 * @returns {Promise<{ url: string; npmrc: string; stop: () => void }>} `npmrc` holds the lines that make npm take and
 *   publish @mp packages there, and all others where it usually does
 */
export async function startRegistry(folder) {
  mkdirSync(join(folder, "storage"));
  writeFileSync(
    join(folder, "verdaccio.yaml"),
    `storage: ${join(folder, "storage")}
auth: { htpasswd: { file: ${join(folder, "htpasswd")}, max_users: -1 } }
packages: { "@mp/*": { access: $all, publish: $all } }
max_body_size: 100mb
log: { type: stdout, format: pretty, level: error }
`,
  );
  const server = spawn(process.execPath, ["--eval", PROGRAM], {
    cwd: folder,
    env: { ...process.env, NODE_PATH: join(root, "node_modules") },
    stdio: ["ignore", "inherit", "inherit", "ipc"],
  });
  const stop = () => server.kill();
  process.on("exit", stop);
  server.on("exit", (status) => status === null || fail(`the registry ended with exit status ${status}`));
  const [port] = await once(server, "message", { signal: AbortSignal.timeout(600_000) });
  const url = `http://127.0.0.1:${port}/`;
  // Anyone may publish, but npm sends nothing without a token.
  return { url, npmrc: `@mp:registry=${url}\n//127.0.0.1:${port}/:_authToken=anyone\n`, stop };
}
