// What the scores of the readers mean to a model of a number (see targets/number/).

const STEP = 1e-9; // see targets/number/target.py

export class TargetOf {
  constructor({ base, deviation, distance }) {
    Object.assign(this, { base, deviation, distance });
    this.none = { prediction: null, interval_low: null, interval_high: null };
  }

  /** The keys of a record that are about a number. `byReader`: the weighted score of each reader. */
  answer(byReader) {
    const added = Object.entries(byReader).map(([name, [score]]) => [name, score * this.deviation]);
    const sum = added.reduce((one, [, each]) => one + each, this.base), step = this.deviation * STEP;
    const value = Math.round(sum / step) * step + 0; // −0 becomes 0
    if (!Number.isFinite(value)) throw new Error("The model gives NaN or infinite numbers: its weights are damaged.");
    const end = (sign) => (this.distance === null ? null : significant(value + sign * this.distance));
    return {
      prediction: significant(value), interval_low: end(-1), interval_high: end(1),
      readers: Object.fromEntries(added.map(([name, each]) => [name, significant(each)])),
    };
  }

  /** What is asked of the words of a text: what its scores are worth, and how that is called. */
  asked(byReader) {
    return {
      worth: ([score]) => score * this.deviation,
      named: { prediction: this.answer(byReader).prediction },
    };
  }
}

/** Rounds to six significant digits, as Python does. */
const significant = (value) => Number(value.toPrecision(6));
