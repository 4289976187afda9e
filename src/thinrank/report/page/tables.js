"use strict";
/* Makes every table[data-sortable] sort by its headings; adds a filter and a download above it. */
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

  /* All rows that the filter shows, with exact numbers. */
  function download(table) {
    const rows = [table.tHead.rows[0], ...Array.from(table.tBodies[0].rows).filter((row) => !row.hidden)];
    const lines = rows.map((row) => Array.from(row.cells, field).join(","));
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob(["\ufeff" + lines.join("\r\n") + "\r\n"], { type: "text/csv" }));
    link.download = table.caption.textContent.trim().toLowerCase().replace(/[^a-z0-9]+/g, "_") + ".csv";
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }

  /* A name that begins like a formula gets a quote, so that a spreadsheet does not run it. */
  function field(cell) {
    if (cell.dataset.v !== undefined) return cell.dataset.v;
    const text = cell.textContent.trim().replace(/^[=+\-@\t]/, "'$&");
    return '"' + text.replaceAll('"', '""') + '"';
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
    const save = document.createElement("button");
    save.type = "button";
    save.textContent = "Download as CSV";
    save.addEventListener("click", () => download(table));
    const bar = document.createElement("div");
    bar.className = "filter";
    bar.append(label, count, save);
    frame.before(bar);
  }

  for (const table of document.querySelectorAll("table[data-sortable]")) {
    addSorting(table);
    addFilter(table, table.parentElement);
  }
})();
