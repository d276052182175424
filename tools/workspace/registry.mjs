/** Runs an npm registry on this machine, empty at first and removed when it is stopped; it asks no other registry. */
import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { fail } from "./fail.mjs";
import { root } from "./packages.mjs";

const START_LIMIT_MS = 600_000;

/** @returns {Promise<number>} */
function freePort() {
  return new Promise((resolve, reject) => {
    const server = createServer().on("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      server.close(() => resolve(typeof address === "object" && address !== null ? address.port : 0));
    });
  });
}

/**
 * @param {string} folder an existing one, for its files
 * @returns {Promise<{ url: string; npmrc: string; stop: () => void }>} `npmrc` holds the lines that make npm take and
 *   publish @mp packages there, and all others where it usually does
 */
export async function startRegistry(folder) {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}/`;
  const config = join(folder, "verdaccio.yaml");
  mkdirSync(join(folder, "storage"));
  writeFileSync(
    config,
    `storage: ${join(folder, "storage")}
auth: { htpasswd: { file: ${join(folder, "htpasswd")}, max_users: -1 } }
packages: { "@mp/*": { access: $all, publish: $all } }
max_body_size: 100mb
log: { type: stdout, format: pretty, level: error }
`,
  );
  const verdaccio = join(root, "node_modules", "verdaccio", "bin", "verdaccio");
  const server = fork(verdaccio, ["--config", config, "--listen", `127.0.0.1:${port}`], {
    cwd: folder,
    stdio: ["ignore", "inherit", "inherit", "ipc"],
  });
  const stop = () => server.kill();
  process.on("exit", stop);
  server.on("exit", (status) => status === null || fail(`the registry ended with exit status ${status}`));
  // Verdaccio sends a message to the process that forked it as soon as it listens.
  await once(server, "message", { signal: AbortSignal.timeout(START_LIMIT_MS) });
  // Anyone may publish, but npm sends nothing without a token.
  return { url, npmrc: `@mp:registry=${url}\n//127.0.0.1:${port}/:_authToken=anyone\n`, stop };
}
