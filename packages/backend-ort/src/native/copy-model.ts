/** The model `y = Identity(x)` for u8 of any shape (IR 10, opset 14), used to copy tensors. */
export const COPY_MODEL: Uint8Array = Uint8Array.from(
  Buffer.from("CAo6LgoQCgF4EgF5IghJZGVudGl0eRIEY29weVoJCgF4EgQKAggCYgkKAXkSBAoCCAJCAhAO", "base64"),
);
