// The share of the words and word pairs of a text that fewer than two training texts have (see prediction/unlike.py).

import { countedWords, textsIn } from "./counting.js";

const FACTOR = 0x9e3779b1;

const CRC_TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let rest = byte;
  for (let bit = 0; bit < 8; bit += 1) rest = rest & 1 ? 0xedb88320 ^ (rest >>> 1) : rest >>> 1;
  return rest;
});

function crc32(text) {
  let rest = ~0;
  for (const byte of new TextEncoder().encode(text)) rest = CRC_TABLE[(rest ^ byte) & 255] ^ (rest >>> 8);
  return ~rest >>> 0;
}

/** `hashes`: those of the training texts, in ascending order. Returns a share in float32. */
export function unseenShare(text, hashes) {
  const words = countedWords(text);
  if (!words.length || !hashes.length) return 1;
  const all = [...words.map(crc32), ...textsIn(words).flatMap(pairsOf)];
  return Math.fround(all.filter((hash) => !holds(hashes, hash)).length / all.length);
}

function pairsOf(words) {
  const whole = ["<start>", ...words, "<end>"].map(crc32);
  return whole.slice(1).map((hash, number) => (Math.imul(whole[number], FACTOR) + hash) >>> 0);
}

function holds(sorted, wanted) {
  let low = 0, high = sorted.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (sorted[middle] < wanted) low = middle + 1;
    else high = middle;
  }
  return sorted[low] === wanted;
}
