/** @param {string} path */
const load = (path) => import(new URL(`../../packages/${path}/dist/index.js`, import.meta.url).href);

/** @type {Readonly<Record<string, (device: string) => Promise<any>>>} */
const ENGINES = {
  reference: async () =>
    (await import(new URL("../../packages/core/dist/reference.js", import.meta.url).href)).reference(),
  ort: async (device) => (await load("backend-ort")).ort({ device }),
  tfjs: async (device) => {
    const { loadTfjsNode, tfjs } = await load("backend-tfjs");
    return tfjs({ tf: await loadTfjsNode({ device }) });
  },
  openvino: async () => (await load("backend-openvino")).openvino(),
  // MP_XLA_PLUGIN names the plugin.
  xla: async (device) => (await load("backend-xla")).xla({ device }),
};

/** @param {string} engine @param {string} device */
export async function openBackend(engine, device) {
  const open = ENGINES[engine];
  if (open === undefined) throw new RangeError(`${engine}: expected ${Object.keys(ENGINES).join(", ")}`);
  return open(device);
}
