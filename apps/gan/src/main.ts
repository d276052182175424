import { runApp, UsageError } from "@mp/cli";
import {
  formatKinds,
  metricOf,
  onEngine,
  refuseOneRunFlags,
  refuseOutput,
  runOnceOrCompare,
  textTable,
  trainMany,
} from "@mp/cli/training";
import { definition, NETWORKS, type Options } from "./flags.js";
import { loadPictures } from "./pictures.js";
import { type GanRun, runGan } from "./run.js";
import { writeSheet } from "./samples.js";
import { tableColumns, tableKinds } from "./table.js";

const SINGLE = ["compare", "save", "resume", "report", "samples"] as const;

await runApp(definition, async (options, context) => {
  const { size, samples, table } = options;
  if (size % 4 !== 0) {
    throw new UsageError(`--size must be a multiple of 4, got ${size}; take ${4 * Math.ceil(size / 4)}`);
  }
  refuseOneRunFlags(options, { many: ["table"], single: SINGLE });
  if (samples?.endsWith(".png") === false)
    throw new UsageError(`--samples ${samples}: is a PNG file, name one that ends in .png`);
  refuseOutput("samples", samples, "file");
  const pictures = await loadPictures(options);
  const run = onEngine<Options, GanRun>(context, (one) => runGan(one, pictures));
  if (table) {
    return await trainMany({
      options,
      context,
      kinds: tableKinds(options),
      run: async (own, label) => ({ result: (await run(own, label)).result }),
      name: "table",
      format: (kinds) => formatKinds(kinds, { show: distance, columns: tableColumns }),
      entry: (kind) => ({ name: kind.name, distance: metricOf(kind) }),
    });
  }
  const { own } = await runOnceOrCompare({
    options,
    context,
    plain: { discriminatorScale: undefined, generatorScale: undefined },
    run,
    conclude: describeScalers,
  });
  if (own === undefined || samples === undefined) return;
  await context.attempt(`--samples ${samples}`, async () => {
    await writeSheet(samples, own.made);
    context.print(`${samples}: a sheet of made pictures`);
  });
});

function distance(value: number): string {
  return value.toFixed(4);
}

/** Prints how each network's scaler moved. */
function describeScalers({ result, networks }: GanRun): string {
  const rows = NETWORKS.map((name) => {
    const { applied, skipped, finalScale } = networks[name];
    return [name, String(applied), String(skipped), String(finalScale)];
  });
  const untrained = distance(Number(result.details?.["untrained"]));
  const line = `Fréchet distance ${untrained} untrained, ${distance(result.metric.value)} trained.`;
  return `${textTable(["", "applied", "skipped", "scale"], rows)}\n${line}`;
}
