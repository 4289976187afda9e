"use strict";
/* Fills every [data-choices] with buttons that tick all boxes or none, and one that saves a file. */
(function () {
  const boxes = Array.from(document.querySelectorAll("input[data-choice]"));

  function button(text, act) {
    const made = document.createElement("button");
    made.type = "button";
    made.textContent = text;
    made.addEventListener("click", act);
    return made;
  }

  function content(bar) {
    const list = boxes.map((box) => ({ ...JSON.parse(box.dataset.choice), [bar.dataset.key]: box.checked }));
    const number = (a, b) => a.id - b.id; /* the order of the files, however the table is sorted */
    return { ...JSON.parse(bar.dataset.choices), [bar.dataset.entry]: list.sort(number) };
  }

  function save(bar) {
    const text = JSON.stringify(content(bar), null, 1) + "\n";
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type: "application/json" }));
    link.download = bar.dataset.file;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }

  for (const bar of document.querySelectorAll("[data-choices]")) {
    const count = document.createElement("output");
    const show = () => {
      const ticked = boxes.filter((box) => box.checked).length;
      count.textContent = ticked + " of " + boxes.length + " " + bar.dataset.key;
    };
    const tick = (value) => () => {
      for (const box of boxes) box.checked = value;
      show();
    };
    for (const box of boxes) box.addEventListener("change", show);
    bar.append(button("Tick all", tick(true)), button("Tick none", tick(false)));
    bar.append(button("Save " + bar.dataset.file, () => save(bar)), count);
    show();
  }
})();
