"use strict";
// The list of claims: filtered by text, outcome and experiment, and searched.
(() => {
  const names = ["paper", "outcome", "experiment"];
  const rows = [...document.querySelectorAll(".claims > li")];
  const chosen = Object.fromEntries(names.map((name) => [name, document.getElementById(`by-${name}`)]));
  const find = document.getElementById("find"), count = document.getElementById("count");
  const texts = rows.map((row) => row.textContent.toLowerCase());

  function show() {
    const words = find.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    rows.forEach((row, k) => {
      const fits = names.every((name) => !chosen[name].value || row.dataset[name].split(", ").includes(chosen[name].value));
      row.hidden = !(fits && words.every((word) => texts[k].includes(word)));
      shown += row.hidden ? 0 : 1;
    });
    count.textContent = `${shown} of ${rows.length} claims`;
  }
  find.closest("form").addEventListener("submit", (event) => event.preventDefault());
  for (const control of [find, ...Object.values(chosen)]) control.addEventListener("input", show);
  show();
})();
