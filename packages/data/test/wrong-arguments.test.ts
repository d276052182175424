// What JavaScript lets through: each is refused by name, before anything is read or drawn.
import { tensor } from "@mp/core";
import { describe, expect, it } from "vitest";
import {
  arrayDataset,
  buildVocabulary,
  channelStatistics,
  cifar10,
  cocoBoxes,
  encodeCorpus,
  imageBatches,
  imageFolder,
  indexedDataset,
  languageModelBatches,
  mapDataset,
  markdownToProse,
  mnist,
  pennTreebank,
  permutation,
  randomStream,
  readIdx,
  readImage,
  readImages,
  readText,
  shapeImages,
  shapeScenes,
  textCorpus,
  tokenize,
  vocBoxes,
  workerDataset,
} from "../src/index.js";
import { refusal } from "./refusal.js";

const images = { x: tensor(new Uint8Array(16), [4, 1, 2, 2]), y: tensor(new Int32Array(4)) };
const tokens = new Int32Array(100);
const url = new URL("./fixtures/numbers.mjs", import.meta.url);
/** Types a value as loosely as JavaScript does. */
const any = (value: unknown) => value as never;

describe("an option of a wrong kind is refused by name:", () => {
  const ofBatches = (options: object) => () => imageBatches(images, any({ batch: 2, ...options }));
  it.each<[string, () => unknown]>([
    ["imageBatches: takes options", () => imageBatches(images, any(null))],
    ["imageBatches: takes options", () => imageBatches(images, any("32"))],
    ["imageBatches: batch", ofBatches({ batch: "2" })],
    ["imageBatches: epochs", ofBatches({ epochs: null })],
    ["imageBatches: epochs", ofBatches({ epochs: 1.5 })],
    ["imageBatches: shuffle", ofBatches({ shuffle: null })],
    ["imageBatches: shuffle", ofBatches({ shuffle: true })],
    ["imageBatches: shuffle: seed", ofBatches({ shuffle: {} })],
    ["imageBatches: shuffle: seed", ofBatches({ shuffle: { seed: 2 ** 53 } })],
    ['imageBatches: shuffle: has no option "sed"; did you mean seed?', ofBatches({ shuffle: { sed: 1 } })],
    ["imageBatches: partial", ofBatches({ partial: "half" })],
    ["imageBatches: augment", ofBatches({ augment: null })],
    ["imageBatches: augment: flip", ofBatches({ augment: { seed: 1, flip: "no" } })],
    ["imageBatches: augment: crop", ofBatches({ augment: { seed: 1, crop: "4" } })],
    ["imageBatches: normalize", ofBatches({ normalize: null })],
    ["imageBatches: normalize: mean", ofBatches({ normalize: { mean: null, deviation: [1] } })],
    ["imageBatches: normalize: deviation", ofBatches({ normalize: { mean: [0] } })],
    ["imageBatches: prefetch", ofBatches({ prefetch: null })],
    ["imageBatches: prefetch", ofBatches({ prefetch: "2" })],
    ["imageBatches: prefetch", ofBatches({ prefetch: 1025 })],
    ["imageBatches: images", () => imageBatches(any(null), { batch: 2 })],
    ["imageBatches: x", () => imageBatches(any({}), { batch: 2 })],
    ["imageBatches: y", () => imageBatches(any({ ...images, y: tensor(new Float32Array(4)) }), { batch: 2 })],
    ["channelStatistics: images", () => channelStatistics(any(undefined))],
    ["mnist: directory", () => mnist(any(undefined))],
    ["cifar10: directory", () => cifar10(any(4))],
    ["readIdx: path", () => readIdx(any(null))],
    ["readText: directory", () => readText(any(null))],
    ["pennTreebank: directory", () => pennTreebank(any(""))],
    ["imageFolder: directory", () => imageFolder(any(null), { height: 4, width: 4 })],
    ["imageFolder: takes options", () => imageFolder(".", any(undefined))],
    ["imageFolder: width", () => imageFolder(".", any({ height: 4 }))],
    ["imageFolder: height", () => imageFolder(".", { height: 0, width: 4 })],
    ["imageFolder: channels", () => imageFolder(".", any({ height: 4, width: 4, channels: 2 }))],
    ["imageFolder: fit", () => imageFolder(".", any({ height: 4, width: 4, fit: "inside" }))],
    ["imageFolder: testShare", () => imageFolder(".", any({ height: 4, width: 4, testShare: "0.1" }))],
    ["imageFolder: seed", () => imageFolder(".", { height: 4, width: 4, seed: Number.NaN })],
    ['imageFolder: has no option "size"', () => imageFolder(".", any({ size: 4 }))],
    ["readImages: directory", () => readImages(any(null), { height: 4, width: 4 })],
    ["readImages: takes options", () => readImages(".", any(null))],
    [
      "readImage: the image, if it is not a Uint8Array, must be a path",
      () => readImage(any(null), { height: 4, width: 4 }),
    ],
    ["readImage: takes options", () => readImage("a.png", any(null))],
    ["vocBoxes: directory", () => vocBoxes(any(null))],
    ["vocBoxes: classes", () => vocBoxes(".", any("dog"))],
    ["cocoBoxes: path", () => cocoBoxes(any({}))],
    ["shapeImages: seed", () => shapeImages(any({}))],
    ["shapeImages: seed", () => shapeImages({ seed: 2 ** 53 })],
    ["shapeImages: train", () => shapeImages(any({ seed: 1, train: null }))],
    ["shapeImages: difficulty", () => shapeImages(any({ seed: 1, difficulty: "0.5" }))],
    ["shapeScenes: objects", () => shapeScenes(any({ seed: 1, objects: "4" }))],
    ["arrayDataset: tensors", () => arrayDataset(any(null), { batch: 1 })],
    ["arrayDataset: x", () => arrayDataset(any({ x: [1, 2] }), { batch: 1 })],
    ["arrayDataset: shuffle", () => arrayDataset({ y: images.y }, any({ batch: 1, shuffle: null }))],
    ["arrayDataset: partial", () => arrayDataset({ y: images.y }, any({ batch: 1, partial: "all" }))],
    ["languageModelBatches: takes options", () => languageModelBatches(tokens, any(null))],
    ["languageModelBatches: tokens", () => languageModelBatches(any(null), { batch: 1, sequence: 1 })],
    [
      'languageModelBatches: has no option "batchSize"; did you mean batch?',
      () => languageModelBatches(tokens, any({ batchSize: 1, sequence: 1 })),
    ],
    ["indexedDataset: takes options", () => indexedDataset(any(null))],
    ["indexedDataset: batch", () => indexedDataset(any({ signature: "a", batchesPerEpoch: 1 }))],
    ["workerDataset: module", () => workerDataset(any("numbers.mjs"), { ahead: 1 })],
    ["workerDataset: takes options", () => workerDataset(url, any(null))],
    ["workerDataset: ahead", () => workerDataset(url, any({ ahead: "2" }))],
    ["textCorpus: takes options", () => textCorpus(any(null))],
    ["textCorpus: packages", () => textCorpus(any({ from: import.meta.url }))],
    ["randomStream: key", () => randomStream(Number.NaN)],
    ["randomStream: key", () => randomStream(any("1"))],
    ["integer: limit", () => randomStream(1).integer(0)],
    ["permutation: stream", () => permutation(2, any(null))],
    ["mapDataset: dataset", () => mapDataset(any({}), (batch) => batch)],
    ["mapDataset: transform", () => mapDataset(imageBatches(images, { batch: 2 }), any(1))],
    ["tokenize: text", () => tokenize(any(null))],
    ["markdownToProse: markdown", () => markdownToProse(any(7))],
    ["buildVocabulary: corpus", () => buildVocabulary(any(undefined), 5)],
    ["encodeCorpus: vocabulary", () => encodeCorpus(any({ train: tokens, words: [] }), any(null))],
    ["permutation: length", () => permutation(-1, randomStream(1))],
  ])("%s", async (subject, call) => {
    const { message, code } = await refusal(call);
    expect(message.startsWith(subject), message).toBe(true);
    expect(code).toMatch(/^MP_(INVALID_ARGUMENT|SHAPE_MISMATCH|DTYPE_MISMATCH)$/);
  });

  it("a batch whose floats no array holds", async () => {
    const many = { x: tensor(new Uint8Array(2 ** 20), [1, 1, 2 ** 10, 2 ** 10]), y: images.y };
    const wide = {
      x: { ...many.x, shape: [2 ** 10, 1, 2 ** 10, 2 ** 10] },
      y: tensor(new Int32Array(2 ** 10)),
    };
    const { message } = await refusal(() => imageBatches(any(wide), { batch: 2 ** 10 }));
    expect(message).toMatch(/batch of 1024 .* is 4294967296 bytes, the most is 2147483648/);
  });
});
