// Of several buttons, Tab reaches one. The arrow keys move to the others, Home and End to the first and the last.

/** `inRow`: how many buttons stand in a row, if they stand in rows. */
export function rove(place, inRow = 0) {
  const all = () => [...place.querySelectorAll("button, [role=button]")];
  place.addEventListener("focusin", ({ target }) => {
    const buttons = all();
    if (buttons.includes(target)) buttons.forEach((other) => { other.tabIndex = other === target ? 0 : -1; });
  });
  place.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const buttons = all(), at = buttons.indexOf(event.target);
    if (at < 0) return;
    const onward = getComputedStyle(place).direction === "rtl" ? "ArrowLeft" : "ArrowRight";
    const back = onward === "ArrowRight" ? "ArrowLeft" : "ArrowRight";
    const steps = { [onward]: at + 1, [back]: at - 1, Home: 0, End: buttons.length - 1 };
    if (inRow) Object.assign(steps, { ArrowDown: at + inRow, ArrowUp: at - inRow });
    if (!(event.key in steps)) return;
    buttons[steps[event.key]]?.focus();
    event.preventDefault();
  });
}
