// Asks one thing at a time. While an answer is on its way, only the newest question waits.
export class Latest {
  constructor(ask, show, fail) {
    Object.assign(this, { ask, show, fail, busy: false, next: null });
  }

  async want(question) {
    this.next = { question };
    if (this.busy) return;
    this.busy = true;
    while (this.next) {
      const { question: now } = this.next;
      this.next = null;
      try {
        const found = await this.ask(now);
        if (!this.next) this.show(now, found);
      } catch (error) {
        if (!this.next) this.fail(now, error);
      }
    }
    this.busy = false;
  }
}
