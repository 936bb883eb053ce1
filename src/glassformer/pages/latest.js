// Asks one thing at a time. While an answer is on its way, only the newest question waits.
export class Latest {
  constructor(ask, show, fail) {
    Object.assign(this, { ask, show, fail, busy: false, next: null, dropped: false });
  }

  /** Forgets what waits, and what is on its way: nothing is asked any more. */
  drop() {
    Object.assign(this, { next: null, dropped: true });
  }

  async want(question) {
    this.next = { question };
    if (this.busy) return;
    this.busy = true;
    while (this.next) {
      const { question: now } = this.next;
      Object.assign(this, { next: null, dropped: false });
      try {
        const found = await this.ask(now);
        if (!this.next && !this.dropped) this.show(now, found);
      } catch (error) {
        if (!this.next && !this.dropped) this.fail(now, error);
      }
    }
    this.busy = false;
  }
}
