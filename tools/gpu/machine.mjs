import { arch, cpus, release, totalmem } from "node:os";
import { runProcess } from "./process.mjs";

/**
 * The output of a command; undefined if it fails, since the machine may lack the command.
 * @param {string} command
 * @param {readonly string[]} args
 */
async function line(command, args) {
  const { code, output } = await runProcess(command, args, { limitSeconds: 120, quiet: true });
  return code === 0 ? output.trim() : undefined;
}

/**
 * The version of PyTorch if it can run on the device, else undefined.
 * @param {string | undefined} python
 * @param {string} device
 */
export async function torchVersion(python, device) {
  if (python === undefined || device === "webgpu") return undefined;
  const wanted = device === "cuda" ? "torch.cuda.is_available()" : "True";
  const program = `import torch, sys; print(torch.__version__) if ${wanted} else sys.exit(1)`;
  return line(python, ["-c", program]);
}

/** @param {string | undefined} python @param {string | undefined} torch */
export async function describeMachine(python, torch) {
  const query = ["--query-gpu=name,driver_version,memory.total,compute_cap", "--format=csv,noheader"];
  const [processor] = cpus();
  return {
    processor: processor?.model,
    cores: cpus().length,
    memoryBytes: totalmem(),
    system: `${process.platform} ${arch()} ${release()}`,
    node: process.version,
    gpu: (await line("nvidia-smi", query)) ?? null,
    cuda: (await line("sh", ["-c", "nvidia-smi | grep -o 'CUDA Version: [0-9.]*'"])) ?? null,
    python: python === undefined ? null : ((await line(python, ["--version"])) ?? null),
    torch: torch ?? null,
  };
}
