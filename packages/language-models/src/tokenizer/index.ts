/** `@mp/language-models/tokenizer`: tokenizers of Hugging Face models, chat templates, and streamed decoding. */
export type { ChatMessage } from "./chat-template.js";
export { checkFits } from "./check-fits.js";
export type { DecodeStream } from "./decode-stream.js";
export { loadTokenizer } from "./load-tokenizer.js";
export type {
  ChatOptions,
  DecodeOptions,
  EncodedChat,
  EncodeOptions,
  SpecialIds,
  Tokenizer,
} from "./tokenizer.js";
