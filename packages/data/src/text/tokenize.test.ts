import { describe, expect, it } from "vitest";
import { Tokenizer, tokenize } from "./tokenize.js";

const words = (text: string): string => tokenize(text).join(" ");

describe("tokenize", () => {
  it.each([
    ["Hello, World!", "hello , world ! <eos>"],
    ["It costs 3.50 or 1,000 or 12:30.", "it costs N or N or N . <eos>"],
    ["Don't — the model’s “loss” isn't it's.", "do n't - the model 's \" loss \" is n't it 's . <eos>"],
    ["One. Two? Three! four", "one . <eos> two ? <eos> three ! four <eos>"],
    ['He said "Stop." Then (so.) Next', 'he said " stop . " <eos> then ( so . ) <eos> next <eos>'],
    ["e.g. The U.S. is big, i.e. large.", "e.g. the u.s. is big , i.e. large . <eos>"],
    ["edit package.json and node.js 20.x", "edit package.json and node.js 20.x <eos>"],
    ["a state-of-the-art utf8 h264 x_1", "a state-of-the-art utf8 h264 x_1 <eos>"],
    ["the <unk> and <code> stay", "the <unk> and <code> stay <eos>"],
    ["wait... what", "wait ... what <eos>"],
    ["naïve Ünïcode 日本", "naïve ünïcode 日本 <eos>"],
    ["constructor and __proto__ of toString", "constructor and __proto__ of tostring <eos>"],
    ["", ""],
    [" \n\t ", ""],
  ])("%j", (text, expected) => {
    expect(words(text)).toBe(expected);
  });

  it("gives the same words for pieces cut at white space as for the whole", () => {
    const text = 'One sentence. "Another one!" Then e.g. this, \n and 3 more... The end';
    const whole = tokenize(text);
    for (const { index } of text.matchAll(/\s/g)) {
      const tokenizer = new Tokenizer();
      const words = [...tokenizer.push(text.slice(0, index)), ...tokenizer.push(text.slice(index))];
      expect([...words, ...tokenizer.end()]).toEqual(whole);
    }
  });

  it("takes what is too long for a word as unknown", () => {
    expect(words(`hash ${"ab12".repeat(30)} end`)).toBe("hash <unk> end <eos>");
  });
});
