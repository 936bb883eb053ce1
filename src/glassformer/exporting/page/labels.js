// What the scores of the readers mean to a model with labels (see targets/labels/).

const THRESHOLD = 0.5;

export class TargetOf {
  constructor({ labels, multilabel, temperature, levels }) {
    Object.assign(this, { labels, multilabel, temperature, levels });
    this.none = { prediction: null, ...(levels ? { path: null, path_probability: null } : {}), confidence: null, probabilities: null };
  }

  /** The keys of a record that are about labels. `byReader`: the weighted logits of each reader. */
  answer(byReader) {
    const { labels, multilabel } = this, probs = this.probabilities(total(byReader));
    return {
      prediction: multilabel ? labels.filter((_, label) => probs[label] >= THRESHOLD) : labels[ranked(probs)[0]],
      ...(this.levels ? this.path(probs) : {}),
      confidence: multilabel ? Math.min(...probs.map((prob) => Math.max(prob, 1 - prob))) : Math.max(...probs),
      probabilities: Object.fromEntries(ranked(probs).map((label) => [labels[label], probs[label]])),
      readers: this.margins(byReader, probs),
    };
  }

  /** The deepest node with a probability of at least a half: the sum of those of its labels (see targets/labels/levels.py). */
  path(probs) {
    const sums = new Map(), names = (label) => label.split(this.levels).map((name) => name.trim()).filter(Boolean);
    this.labels.forEach((label, number) => names(label).forEach((_, depth, all) => {
      const node = all.slice(0, depth + 1).join(this.levels), { sum = 0 } = sums.get(node) ?? {};
      sums.set(node, { sum: sum + probs[number], depth });
    }));
    const sure = [...sums].filter(([, { sum }]) => sum >= THRESHOLD).sort(([, one], [, other]) => other.depth - one.depth);
    const [path, { sum }] = sure[0] ?? [null, { sum: null }];
    return { path, path_probability: sum === null ? null : Math.min(1, sum) };
  }

  /** Calibrated probabilities, as float32. */
  probabilities(logits) {
    const scaled = logits.map((logit) => logit / this.temperature);
    if (!scaled.every(Number.isFinite)) throw new Error("The model gives NaN or infinite logits: its weights are damaged.");
    if (this.multilabel) return Array.from(scaled, (logit) => Math.fround(1 / (1 + Math.exp(-logit))));
    const most = Math.max(...scaled), powers = Array.from(scaled, (logit) => Math.exp(logit - most));
    const sum = powers.reduce((one, other) => one + other);
    return powers.map((power) => Math.fround(power / sum));
  }

  /** What each reader adds to the margin of the answer: over the second label, or of the least certain label. */
  margins(byReader, probs) {
    const [first, second] = ranked(probs), [least] = ranked(probs.map((prob) => -Math.abs(prob - THRESHOLD)));
    const sign = probs[least] >= THRESHOLD ? 1 : -1;
    const margin = (logits) => (this.multilabel ? sign * logits[least] : logits[first] - (logits[second] ?? 0));
    return Object.fromEntries(Object.entries(byReader).map(([name, logits]) => [name, margin(logits) / this.temperature]));
  }

  /** What is asked of the words of a text: what its scores are worth, and how that is called. */
  asked(byReader) {
    const [first, second] = ranked(Array.from(total(byReader))), rival = this.multilabel ? undefined : second;
    return {
      worth: (logits) => (logits[first] - (rival === undefined ? 0 : logits[rival])) / this.temperature,
      named: { label: this.labels[first], rival: rival === undefined ? null : this.labels[rival] },
    };
  }
}

function total(byReader) {
  return Object.values(byReader).reduce((one, other) => one.map((logit, label) => logit + other[label]));
}

/** The numbers of the labels, the most probable first. */
const ranked = (probs) => probs.map((_, label) => label).sort((one, other) => probs[other] - probs[one]);
