// What the scores of the readers mean to a model with labels (see targets/labels/).

const THRESHOLD = 0.5;

export class TargetOf {
  constructor({ labels, multilabel, temperature, levels, costs }) {
    Object.assign(this, { labels, multilabel, temperature, levels, costs });
    this.none = { prediction: null, ...(levels ? { path: null, path_probability: null } : {}), confidence: null, probabilities: null };
  }

  /** The keys of a record that are about labels. `byReader`: the weighted logits of each reader. */
  answer(byReader) {
    const { labels, multilabel } = this, probs = this.probabilities(total(byReader)), given = this.given(probs);
    const chosen = labels.filter((_, label) => given[label]);
    return {
      prediction: multilabel ? chosen : chosen[0],
      ...(this.levels ? this.path(probs) : {}),
      confidence: multilabel ? Math.min(...sureness(probs, given)) : probs[given.indexOf(true)],
      probabilities: Object.fromEntries(ranked(probs).map((label) => [labels[label], probs[label]])),
      readers: this.margins(byReader, probs, given),
      ...(this.costs?.review == null ? {} : { needs_review: this.costs.review < this.least(probs) }),
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

  /** Which labels are the answer: the most probable ones, or those of the least expected cost. */
  given(probs) {
    if (this.multilabel) return probs.map((prob, label) => prob >= (this.costs ? 1 / (1 + this.costs.wrong[label]) : THRESHOLD));
    const [best] = ranked(this.costs ? this.expected(probs).map((cost) => -cost) : probs);
    return probs.map((_, label) => label === best);
  }

  /** The expected cost of each answer, of a model with one label per text. */
  expected(probs) {
    return probs.map((_, answer) => sum(probs.map((prob, truth) => prob * this.costs.wrong[truth][answer])));
  }

  /** The least expected cost. */
  least(probs) {
    if (!this.multilabel) return Math.min(...this.expected(probs));
    return sum(probs.map((prob, label) => Math.min(prob * this.costs.wrong[label], 1 - prob)));
  }

  /** Calibrated probabilities, as float32. */
  probabilities(logits) {
    const scaled = logits.map((logit) => logit / this.temperature);
    if (!scaled.every(Number.isFinite)) throw new Error("The model gives NaN or infinite logits: its weights are damaged.");
    if (this.multilabel) return Array.from(scaled, (logit) => Math.fround(1 / (1 + Math.exp(-logit))));
    const most = Math.max(...scaled), powers = Array.from(scaled, (logit) => Math.exp(logit - most));
    const whole = sum(powers);
    return powers.map((power) => Math.fround(power / whole));
  }

  /** What each reader adds to the margin of the answer: over the second label, or of the least certain label. */
  margins(byReader, probs, given) {
    const first = given.indexOf(true), second = ranked(probs).find((label) => label !== first);
    const [least] = ranked(sureness(probs, given).map((sure) => -sure)), sign = given[least] ? 1 : -1;
    const margin = (logits) => (this.multilabel ? sign * logits[least] : logits[first] - (logits[second] ?? 0));
    return Object.fromEntries(Object.entries(byReader).map(([name, logits]) => [name, margin(logits) / this.temperature]));
  }

  /** What is asked of the words of a text: what its scores are worth, and how that is called. */
  asked(byReader) {
    const scores = total(byReader), order = ranked(Array.from(scores));
    const first = this.multilabel ? order[0] : this.given(this.probabilities(scores)).indexOf(true);
    const rival = this.multilabel ? undefined : order.find((label) => label !== first);
    return {
      worth: (logits) => (logits[first] - (rival === undefined ? 0 : logits[rival])) / this.temperature,
      named: { label: this.labels[first], rival: rival === undefined ? null : this.labels[rival] },
    };
  }
}

const sum = (numbers) => numbers.reduce((one, other) => one + other, 0);

/** The probability of each decision: that a label is given, or that it is not. */
const sureness = (probs, given) => probs.map((prob, label) => (given[label] ? prob : 1 - prob));

function total(byReader) {
  return Object.values(byReader).reduce((one, other) => one.map((logit, label) => logit + other[label]));
}

/** The numbers of the labels, the most probable first. */
const ranked = (probs) => probs.map((_, label) => label).sort((one, other) => probs[other] - probs[one]);
