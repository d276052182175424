/** The model `y = Identity(x)` on bytes of any shape (IR 10, opset 14), as a means to copy tensors. */
export const COPY_MODEL: Uint8Array = Uint8Array.from(
  Buffer.from("CAo6LgoQCgF4EgF5IghJZGVudGl0eRIEY29weVoJCgF4EgQKAggCYgkKAXkSBAoCCAJCAhAO", "base64"),
);
