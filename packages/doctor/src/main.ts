// The program of bin/mp-doctor.js.
import { nodeFinding, runsOn } from "./machine/node-version.js";

const { node } = process.versions;
if (runsOn(node)) {
  // Imported late, because an old Node could not load it, and the check would not run.
  const { run } = await import("./run.js");
  process.exitCode = await run(process.argv.slice(2));
} else {
  const finding = nodeFinding(node);
  const diagnosis = { healthy: false, findings: [finding] };
  process.stdout.write(
    process.argv.includes("--json")
      ? `${JSON.stringify(diagnosis, undefined, 2)}\n`
      : `problem  Node ${finding.text}\n         → ${finding.remedy}\n\nNot ready: 1 problem.\n`,
  );
  process.exitCode = 1;
}
