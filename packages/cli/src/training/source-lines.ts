import { readFileSync } from "node:fs";
import { SourceMap, type SourceMapPayload } from "node:module";
import { dirname, resolve } from "node:path";
import type { CastReport } from "@mp/core";

const maps = new Map<string, SourceMap | undefined>();

/**
 * Maps a line of a bundle, `file:line:column`, to the line of its source. Returns the line unchanged if the bundle has
 * no source map beside it. Node's `--enable-source-maps` would slow down each node of a trace.
 */
export function sourceLine(line: string): string {
  const [, file = "", row, column] = /^(.*):(\d+):(\d+)$/.exec(line) ?? [];
  const entry = readMapOnce(file)?.findEntry(Number(row) - 1, Number(column) - 1);
  if (entry === undefined || !("originalSource" in entry)) return line;
  const source = resolve(dirname(file), entry.originalSource);
  return `${source}:${entry.originalLine + 1}:${entry.originalColumn + 1}`;
}

/** Maps the lines in a report to lines of the sources. */
export function withSourceLines(casts: CastReport): CastReport {
  const nodes = casts.nodes.map((node) =>
    node.line === undefined ? node : { ...node, line: sourceLine(node.line) },
  );
  return { ...casts, nodes };
}

function readMapOnce(file: string): SourceMap | undefined {
  if (maps.has(file)) return maps.get(file);
  let map: SourceMap | undefined;
  try {
    map = new SourceMap(JSON.parse(readFileSync(`${file}.map`, "utf8")) as SourceMapPayload);
  } catch {
    // Without a readable map, the line of the bundle is returned.
  }
  maps.set(file, map);
  return map;
}
