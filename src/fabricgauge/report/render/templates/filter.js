"use strict";
(() => {
  // Add a line above each long table: a button for each outcome, and words that a row must have.
  for (const table of document.querySelectorAll("table.filtered")) {
    const rows = [...table.tBodies[0].rows];
    const words = document.createElement("input");
    Object.assign(words, { type: "search", placeholder: "words in a row" });
    words.setAttribute("aria-label", "Show rows with these words");
    const bar = document.createElement("p");
    const count = document.createElement("span");
    bar.className = "filter";
    count.setAttribute("aria-live", "polite");
    const outcomes = [...new Set(rows.map((row) => row.cells[0].textContent.trim()))];
    const buttons = outcomes.map((outcome) => {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = outcome;
      button.setAttribute("aria-pressed", "true");
      return button;
    });
    const apply = () => {
      const outcomesShown = new Set(
        buttons.filter((button) => button.getAttribute("aria-pressed") === "true")
          .map((button) => button.textContent));
      const wordsShown = words.value.toLowerCase().split(/\s+/).filter(Boolean);
      let shown = 0;
      for (const row of rows) {
        const text = row.textContent.toLowerCase();
        row.hidden = !outcomesShown.has(row.cells[0].textContent.trim())
          || !wordsShown.every((word) => text.includes(word));
        shown += row.hidden ? 0 : 1;
      }
      count.textContent = `${shown} of ${rows.length}`;
    };
    for (const button of buttons) {
      button.addEventListener("click", () => {
        const pressed = button.getAttribute("aria-pressed") === "true";
        button.setAttribute("aria-pressed", String(!pressed));
        apply();
      });
    }
    words.addEventListener("input", apply);
    bar.append(words, ...buttons, count);
    table.parentElement.before(bar);
    apply();
  }
})();
