"use strict";
/* Makes every table[data-sortable] sort by its column headings and adds a filter above it. */
(function () {
  const collator = new Intl.Collator(undefined, { numeric: true, sensitivity: "base" });

  function valueOf(row, column, isNumber) {
    const cell = row.cells[column];
    if (!isNumber) return cell.textContent.trim();
    return cell.dataset.v === undefined ? NaN : Number(cell.dataset.v);
  }

  /* Missing values come last in both directions; equal ones keep their order. */
  function compare(a, b, isNumber, sign) {
    if (!isNumber) return sign * collator.compare(a, b);
    if (Number.isNaN(a) || Number.isNaN(b)) return Number.isNaN(a) - Number.isNaN(b);
    return sign * (a - b);
  }

  function sortBy(table, heading, column) {
    const isNumber = heading.classList.contains("number");
    const before = heading.getAttribute("aria-sort");
    const descending = before === null ? isNumber : before === "ascending";
    const body = table.tBodies[0];
    const keyed = Array.from(body.rows, (row) => [valueOf(row, column, isNumber), row]);
    keyed.sort((a, b) => compare(a[0], b[0], isNumber, descending ? -1 : 1));
    body.append(...keyed.map((pair) => pair[1]));
    for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
    heading.setAttribute("aria-sort", descending ? "descending" : "ascending");
  }

  function addSorting(table) {
    Array.from(table.tHead.rows[0].cells).forEach((heading, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...heading.childNodes);
      heading.append(button);
      button.addEventListener("click", () => sortBy(table, heading, column));
    });
  }

  function addFilter(table, frame) {
    const rows = Array.from(table.tBodies[0].rows);
    const texts = rows.map((row) => row.textContent.toLowerCase());
    const label = document.createElement("label");
    const input = document.createElement("input");
    const count = document.createElement("output");
    input.type = "search";
    input.placeholder = "all rows";
    label.append("Filter ", input);
    const show = () => {
      const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
      let shown = 0;
      rows.forEach((row, i) => {
        const fits = words.every((word) => texts[i].includes(word));
        row.hidden = !fits;
        shown += fits;
      });
      count.textContent = shown + " of " + rows.length + (rows.length === 1 ? " row" : " rows");
    };
    input.addEventListener("input", show);
    show();
    const bar = document.createElement("div");
    bar.className = "filter";
    bar.append(label, count);
    frame.before(bar);
  }

  for (const table of document.querySelectorAll("table[data-sortable]")) {
    addSorting(table);
    addFilter(table, table.parentElement);
  }
})();
