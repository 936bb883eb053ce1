// Sorts a table by the column whose heading is pressed: numbers by size, names by letter. Rows of the foot stay below.
document.querySelectorAll("table.sortable").forEach((table) => {
  const body = table.tBodies[0], heads = [...table.tHead.rows[0].cells];
  const text = (row, column) => row.cells[column].innerText;
  const number = (row, column) => {
    const value = parseFloat(text(row, column).replace(/,/g, ""));
    return isNaN(value) ? -Infinity : value;
  };
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.textContent = head.textContent;
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      const before = head.getAttribute("aria-sort");
      const ascending = before ? before === "descending" : column === 0;
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", ascending ? "ascending" : "descending");
      const compare = column === 0
        ? (a, b) => text(a, 0).localeCompare(text(b, 0), undefined, { numeric: true })
        : (a, b) => number(a, column) - number(b, column);
      body.append(...[...body.rows].sort((a, b) => (ascending ? 1 : -1) * compare(a, b)));
    });
  });
});
// Marks the parts that are wider than their place, so that the hint below them shows.
document.querySelectorAll(".scroll").forEach((part) => {
  const watcher = new ResizeObserver(() => part.classList.toggle("wide", part.scrollWidth > part.clientWidth));
  [part, ...part.children].forEach((element) => watcher.observe(element));
});
