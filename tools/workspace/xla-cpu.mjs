/**
 * XLA's CPU plugin, for tests. Nobody publishes one officially: this one is a by-product of another project (Apache-2.0,
 * its THIRD_PARTY_NOTICES beside it), pinned by its sum. Users are not offered it.
 */
import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fetchOnce, onlyFile, requireLinuxX64, run } from "./parts.mjs";

const WHEEL = {
  name: "lammps-jax-pjrt-cpu==0.11.2",
  sha256: "1319390d948b39f69f7dade496b7c385149d9ca6097a6b62114da113216d9ad1",
  plugin: "lammps_jax_pjrt_cpu/pjrt_c_api_cpu_plugin.so",
};
const PIP = ["-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"];
/** Options of pip with which any Python can download the plugin. */
const PLATFORM = ["--only-binary=:all:", "--python-version=3.11", "--platform=manylinux_2_27_x86_64"];

/**
 * The environment in which `xla()` opens the plugin, which is downloaded the first time on a machine (63 MB, 193 MB on disk).
 * @throws PartsMissing where this machine or its network cannot provide it
 */
export function xlaEnvironment() {
  requireLinuxX64("XLA's CPU plugin");
  const folder = fetchOnce("xla-cpu", WHEEL, (into) => {
    const download = join(into, "download");
    mkdirSync(download);
    run("python3", [...PIP, ...PLATFORM, "--dest", download, WHEEL.name], { cwd: into });
    run("python3", ["-m", "zipfile", "-e", onlyFile(download, WHEEL.name, WHEEL.sha256), into], {
      cwd: into,
    });
    rmSync(download, { recursive: true });
  });
  return { MP_XLA_PLUGIN: join(folder, WHEEL.plugin) };
}
