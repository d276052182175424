/** OpenVINO's library for the demo: found, fetched, opened. No failure is thrown: each is a state with its reason. */
import { spawn } from "node:child_process";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { backendOf } from "@mp/cli/training";
import { locateLibrary } from "@mp/libopenvino";
import { FETCH_SECONDS, type Library } from "./next-step.js";

export function findLibrary(): Library {
  if (process.platform !== "linux" || process.arch !== "x64") return { state: "other platform" };
  try {
    locateLibrary(undefined, process.env);
    return { state: "installed" };
  } catch {
    return { state: "missing" };
  }
}

/** Runs `mp-libopenvino`, and pip with it, for a limited time. */
export async function fetchLibrary(): Promise<Library> {
  const manifest = createRequire(import.meta.url).resolve("@mp/libopenvino/package.json");
  const child = spawn(process.execPath, [join(dirname(manifest), "bin", "mp-libopenvino.js")], {
    stdio: ["ignore", "ignore", "pipe"],
    env: { PIP_DEFAULT_TIMEOUT: "10", ...process.env },
    // A group of its own, so that pip ends with it.
    detached: true,
  });
  const end = (): void => {
    if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
  };
  const interrupt = (): void => {
    end();
    process.exit(130);
  };
  process.once("SIGINT", interrupt);
  let isLate = false;
  const limit = setTimeout(() => {
    isLate = true;
    end();
  }, FETCH_SECONDS * 1000);
  let said = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    said += text;
  });
  try {
    const code = await new Promise<number | null>((resolve, reject) => {
      child.on("error", reject).on("close", resolve);
    });
    if (code === 0) return { state: "installed" };
    const reason = isLate ? `it took more than ${FETCH_SECONDS} s` : lastLine(said);
    return { state: "unreachable", reason: `OpenVINO's library was not fetched (${reason})` };
  } catch (error) {
    return { state: "unreachable", reason: `OpenVINO's library was not fetched (${messageOf(error)})` };
  } finally {
    clearTimeout(limit);
    process.off("SIGINT", interrupt);
  }
}

/** Opens the engine and asks what it declares. */
export async function openLibrary(): Promise<Library> {
  try {
    const backend = await backendOf({ backend: "openvino", device: "cpu" });
    const { bf16 } = backend.manifest.dtypes;
    await backend.dispose();
    if ("compute" in bf16 && bf16.compute === "native") return { state: "native" };
    return { state: "unusable", reason: "OpenVINO does not multiply bfloat16 natively here" };
  } catch (error) {
    return { state: "unusable", reason: lastLine(messageOf(error)) };
  }
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

const lastLine = (text: string): string => text.trim().split("\n").at(-1) ?? "";
