"use strict";
/* Makes every table[data-sortable] sort by its headings; adds a filter and a download above it. Fills every
   [data-choices] with buttons that tick all boxes or none, and one that saves a file. */
(function () {
  const collator = new Intl.Collator(undefined, { numeric: true, sensitivity: "base" });

  function button(text, act) {
    const made = document.createElement("button");
    made.type = "button";
    made.append(text);
    made.addEventListener("click", act);
    return made;
  }

  function save(name, type, text) {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type }));
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
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
    const value = (cell) => (isNumber ? Number(cell.dataset.v) : cell.textContent.trim()); /* NaN if it has none */
    const keyed = Array.from(body.rows, (row) => [value(row.cells[column]), row]);
    keyed.sort((a, b) => compare(a[0], b[0], isNumber, descending ? -1 : 1));
    body.append(...keyed.map((pair) => pair[1]));
    for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
    heading.setAttribute("aria-sort", descending ? "descending" : "ascending");
  }

  /* A name that begins like a formula gets a quote, so that a spreadsheet does not run it. */
  function field(cell) {
    if (cell.dataset.v !== undefined) return cell.dataset.v;
    const text = cell.textContent.trim().replace(/^[=+\-@\t]/, "'$&");
    return '"' + text.replaceAll('"', '""') + '"';
  }

  /* All rows that the filter shows, with exact numbers. */
  function download(table) {
    const rows = [table.tHead.rows[0], ...Array.from(table.tBodies[0].rows).filter((row) => !row.hidden)];
    const lines = rows.map((row) => Array.from(row.cells, field).join(","));
    const name = table.caption.textContent.trim().toLowerCase().replace(/[^a-z0-9]+/g, "_");
    save(name + ".csv", "text/csv", "\ufeff" + lines.join("\r\n") + "\r\n");
  }

  function addFilter(table, frame) {
    const rows = Array.from(table.tBodies[0].rows);
    const texts = rows.map((row) => row.textContent.toLowerCase());
    const [bar, label, input, count] = ["div", "label", "input", "output"].map((tag) => document.createElement(tag));
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
    bar.className = "filter";
    bar.append(label, count, button("Download as CSV", () => download(table)));
    frame.before(bar);
  }

  function addChoices(bar) {
    const boxes = Array.from(document.querySelectorAll("input[data-choice]"));
    const { choices, file, entry, key } = bar.dataset;
    const count = document.createElement("output");
    const show = () => {
      count.textContent = boxes.filter((box) => box.checked).length + " of " + boxes.length + " " + key;
    };
    const tick = (value) => () => {
      for (const box of boxes) box.checked = value;
      show();
    };
    const store = () => {
      const list = boxes.map((box) => ({ ...JSON.parse(box.dataset.choice), [key]: box.checked }));
      list.sort((a, b) => a.id - b.id); /* the order of the files, however the table is sorted */
      save(file, "application/json", JSON.stringify({ ...JSON.parse(choices), [entry]: list }, null, 1) + "\n");
    };
    for (const box of boxes) box.addEventListener("change", show);
    bar.append(button("Tick all", tick(true)), button("Tick none", tick(false)), button("Save " + file, store), count);
    show();
  }

  for (const table of document.querySelectorAll("table[data-sortable]")) {
    Array.from(table.tHead.rows[0].cells).forEach((heading, column) => {
      heading.replaceChildren(button(heading.textContent, () => sortBy(table, heading, column)));
    });
    addFilter(table, table.parentElement);
  }
  for (const bar of document.querySelectorAll("[data-choices]")) addChoices(bar);
})();
