// Logits of texts of any length: windows, batches and padding are those of data/windows.py, since the answers of int8
// depend on them. ONNX Runtime Web computes, on one thread.

const PAD_ID = 0, START_ID = 2, BATCH_TOKENS = 2048, BATCH_SIZE = 256;

export class Transformer {
  constructor(ort, session, { maxSeqLen, nClasses }) {
    Object.assign(this, { ort, session, maxSeqLen, nClasses, turn: Promise.resolve() });
  }

  static async load(ort, { wasm, model, ...sizes }) {
    ort.env.wasm.wasmBinary = wasm;
    ort.env.wasm.numThreads = 1;
    ort.env.logLevel = "error";
    return new Transformer(ort, await ort.InferenceSession.create(model, { executionProviders: ["wasm"] }), sizes);
  }

  /** The logits of each row of token ids. A row of several windows gets their mean. One call waits for the other. */
  score(rows) {
    const scored = this.turn.then(() => this.scoreNow(rows));
    this.turn = scored.catch(() => {});
    return scored;
  }

  async scoreNow(rows) {
    const windows = rows.flatMap((ids, row) => coveringWindows(ids.length, this.maxSeqLen).map((start) => (
      { row, ids: ids.slice(start, start + this.maxSeqLen - 1) })));
    const totals = rows.map(() => new Float64Array(this.nClasses)), counts = rows.map(() => 0);
    for (const batch of batches(windows)) {
      const logits = await this.read(batch.map(({ ids }) => ids));
      batch.forEach(({ row }, place) => {
        counts[row] += 1;
        for (let label = 0; label < this.nClasses; label += 1) totals[row][label] += logits[place * this.nClasses + label];
      });
    }
    return totals.map((total, row) => total.map((sum) => sum / counts[row]));
  }

  async read(windows) {
    const width = Math.min(widthFor(windows[0].length), this.maxSeqLen), shape = [windows.length, width];
    const ids = new BigInt64Array(windows.length * width).fill(BigInt(PAD_ID)), mask = new Uint8Array(ids.length);
    windows.forEach((window, place) => {
      [START_ID, ...window].forEach((id, at) => { ids[place * width + at] = BigInt(id); });
      mask.fill(1, place * width, place * width + window.length + 1);
    });
    const { logits } = await this.session.run({
      token_ids: new this.ort.Tensor("int64", ids, shape),
      attention_mask: new this.ort.Tensor("bool", mask, shape),
    });
    return logits.data;
  }
}

/** The first token of each window: evenly spread, neighbours share at least a quarter of a window. */
export function coveringWindows(length, maxSeqLen) {
  const room = maxSeqLen - 1, step = Math.max(1, room - Math.floor(room / 4));
  const count = 1 + Math.max(0, Math.ceil((length - room) / step));
  return Array.from({ length: count }, (_, number) => (count > 1 ? roundHalfEven((number * (length - room)) / (count - 1)) : 0));
}

/** Rounds as Python does. */
function roundHalfEven(value) {
  const low = Math.floor(value);
  if (value - low !== 0.5) return Math.round(value);
  return low % 2 ? low + 1 : low;
}

/** Windows of similar length together, the longest first. */
function* batches(windows) {
  const sorted = [...windows].sort((one, other) => other.ids.length - one.ids.length);
  for (let first = 0; first < sorted.length;) {
    const count = Math.max(1, Math.min(BATCH_SIZE, Math.floor(BATCH_TOKENS / widthFor(sorted[first].ids.length))));
    yield sorted.slice(first, first + count);
    first += count;
  }
}

/** The width of a batch for this many tokens and the start token. */
function widthFor(longest) {
  const step = longest >= 64 ? 16 : 4;
  return Math.ceil((longest + 1) / step) * step;
}
