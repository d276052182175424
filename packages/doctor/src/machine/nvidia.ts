import { execFile } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { delimiter, join } from "node:path";

const LIMIT_MS = 5_000;

/** The libraries whose major versions decide whether a build for CUDA loads. */
export const CUDA_LIBRARIES = ["cudart", "cublas", "cudnn"] as const;

export type CudaLibrary = (typeof CUDA_LIBRARIES)[number];

export type Majors = Readonly<Record<CudaLibrary, readonly number[]>>;

export interface Nvidia {
  /** Name of each device, from nvidia-smi. */
  readonly devices: readonly string[];
  readonly driver: string | undefined;
  /** Major versions of each library that the loader finds. */
  readonly found: Majors;
}

/** Finds the driver, the devices, and the major versions of the libraries that the loader would find. */
export async function describeNvidia(environment: NodeJS.ProcessEnv = process.env): Promise<Nvidia> {
  const [listed, cached] = await Promise.all([
    output("nvidia-smi", ["--query-gpu=name,driver_version", "--format=csv,noheader"]),
    process.platform === "linux" ? ldconfig() : "",
  ]);
  const rows = listed
    .split("\n")
    .map((line) => line.split(",").map((part) => part.trim()))
    .filter((parts) => parts.length === 2);
  const files = [...cached.matchAll(/^\s*(\S+) \(/gm)].map(([, name = ""]) => name);
  return {
    devices: rows.map(([name = ""]) => name),
    driver: rows[0]?.[1],
    found: libraryMajors([...files, ...folders(environment).flatMap(filesIn)]),
  };
}

/** Reads the major versions in names of library files: `libcudnn.so.9`, `cudart64_12.dll`, `libcublas.so.12.4.5`. */
export function libraryMajors(fileNames: readonly string[]): Majors {
  const majors = (library: CudaLibrary) => {
    const name = new RegExp(`^(?:lib${library}\\.so\\.(\\d+)|${library}64_(\\d+).*\\.dll$)`, "i");
    const found = fileNames.map((file) => name.exec(file)).filter((match) => match !== null);
    return [...new Set(found.map(([, so, dll]) => major(so ?? dll ?? "")))].sort((a, b) => a - b);
  };
  return { cudart: majors("cudart"), cublas: majors("cublas"), cudnn: majors("cudnn") };
}

/** Reads a major version. Up to CUDA 11, names for Windows also had the minor: `cudart64_110.dll`. */
const major = (digits: string): number => Number(digits.length > 2 ? digits.slice(0, 2) : digits);

async function ldconfig(): Promise<string> {
  const first = await output("ldconfig", ["-p"]);
  // In some distributions ldconfig is not on a user's PATH.
  return first === "" ? output("/sbin/ldconfig", ["-p"]) : first;
}

function folders(environment: NodeJS.ProcessEnv): readonly string[] {
  const given = process.platform === "win32" ? environment["PATH"] : environment["LD_LIBRARY_PATH"];
  return [...(given ?? "").split(delimiter).filter(Boolean), join("/usr/local/cuda", "lib64")];
}

function filesIn(folder: string): readonly string[] {
  try {
    return existsSync(folder) ? readdirSync(folder) : [];
  } catch {
    return [];
  }
}

/** The output of a program; empty if it is missing, fails or hangs. */
function output(program: string, args: readonly string[]): Promise<string> {
  return new Promise((resolve) => {
    execFile(program, [...args], { timeout: LIMIT_MS, killSignal: "SIGKILL" }, (error, stdout) =>
      resolve(error === null ? stdout : ""),
    );
  });
}
