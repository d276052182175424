import { path as checkPath } from "../check-arguments.js";
import { cifar10, isCifar10 } from "./cifar10.js";
import { checkFolderOptions, type ImageFolderOptions, imageFolder } from "./image-folder.js";
import type { ImageSplits } from "./labeled-images.js";
import { isMnist, mnist } from "./mnist.js";

/**
 * Reads the labeled images of a folder in one of three formats: CIFAR-10's binary files, MNIST's files, or a folder
 * per class. `size` applies only to a folder per class.
 * @throws as `cifar10`, `mnist` and `imageFolder`
 */
export async function readImages(directory: string, size: ImageFolderOptions): Promise<ImageSplits> {
  checkPath("readImages: directory", directory);
  checkFolderOptions("readImages", size);
  if (await isCifar10(directory)) return cifar10(directory);
  if (await isMnist(directory)) return mnist(directory);
  return imageFolder(directory, size);
}
