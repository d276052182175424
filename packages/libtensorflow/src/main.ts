// The program of bin/mp-libtensorflow.js.
const OLDEST_NODE = [20, 19] as const;

const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
if (major < OLDEST_NODE[0] || (major === OLDEST_NODE[0] && minor < OLDEST_NODE[1])) {
  process.stderr.write(
    `mp-libtensorflow: Node ${OLDEST_NODE.join(".")} or later is needed, this is ${process.versions.node}: https://nodejs.org\n`,
  );
  process.exitCode = 2;
} else {
  // Imported late, so that an old Node gets as far as the check above.
  const { run } = await import("./run.js");
  process.exitCode = await run(process.argv.slice(2));
}
