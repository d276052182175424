import { readFileSync } from "node:fs";
import { SourceMap, type SourceMapPayload } from "node:module";
import { dirname, resolve } from "node:path";
import type { CastReport } from "@mp/core";

const maps = new Map<string, SourceMap | undefined>();

/**
 * The line of the source that a line of a bundle, `file:line:column`, was made from; the same line where there is no map
 * beside the bundle. Node's own `--enable-source-maps` would slow down each node of a trace.
 */
export function sourceLine(line: string): string {
  const [, file = "", row, column] = /^(.*):(\d+):(\d+)$/.exec(line) ?? [];
  const entry = readMapOnce(file)?.findEntry(Number(row) - 1, Number(column) - 1);
  if (entry === undefined || !("originalSource" in entry)) return line;
  const source = resolve(dirname(file), entry.originalSource);
  return `${source}:${entry.originalLine + 1}:${entry.originalColumn + 1}`;
}

/** A report whose lines are those of the sources. */
export function withSourceLines(casts: CastReport): CastReport {
  const nodes = casts.nodes.map((node) =>
    node.line === undefined ? node : { ...node, line: sourceLine(node.line) },
  );
  return { ...casts, nodes };
}

function readMapOnce(file: string): SourceMap | undefined {
  if (!maps.has(file)) maps.set(file, readMap(`${file}.map`));
  return maps.get(file);
}

function readMap(path: string): SourceMap | undefined {
  try {
    return new SourceMap(JSON.parse(readFileSync(path, "utf8")) as SourceMapPayload);
  } catch {
    // Without a readable map the bundle's own line is the best there is.
    return undefined;
  }
}
