// The share of the words and word pairs of a text that fewer than two training texts have (see prediction/unlike.py).

import { countedWords } from "./counting.js";

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
  const words = countedWords(text).map(crc32);
  if (!words.length || !hashes.length) return 1;
  const marked = [crc32("<start>"), ...words, crc32("<end>")];
  const pairs = words.map((_, number) => number).concat(words.length)
    .map((number) => (Math.imul(marked[number], FACTOR) + marked[number + 1]) >>> 0);
  const all = [...words, ...pairs];
  return Math.fround(all.filter((hash) => !holds(hashes, hash)).length / all.length);
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
