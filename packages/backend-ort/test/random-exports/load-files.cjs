// Loads and runs each model file of a folder in turn, from the one given on. Says the file before it is loaded, so that
// the one that ends the process is known.
const { readFileSync } = require("node:fs");
const { join } = require("node:path");
const engine = require("onnxruntime-node");

const [folder, first] = process.argv.slice(2);
const files = JSON.parse(readFileSync(join(folder, "files.json"), "utf8"));

void (async () => {
  for (const { index, file, shape, input } of files.filter((each) => each.index >= Number(first))) {
    console.log(JSON.stringify({ index }));
    try {
      const session = await engine.InferenceSession.create(join(folder, file));
      const x = new engine.Tensor("float32", Float32Array.from(input), shape);
      const { output } = await session.run({ x });
      console.log(JSON.stringify({ index, shape: output.dims, output: Array.from(output.data) }));
      await session.release();
    } catch (error) {
      console.log(JSON.stringify({ index, error: String(error.message) }));
    }
  }
})();
