"use strict";
// Ratios to another baseline, the metric that is plotted, colours, printing.
(() => {
  const { decimals } = window.ssdlab;

  // A ratio, and that its interval from `low` to `high` leaves open which is lower (as
  // ssdlab.results.intervals.order).
  const putRatio = (cell, text, low, high) => {
    cell.textContent = text;
    if (!(low <= 1 && high >= 1) || low === high) return;
    cell.textContent = "";
    const open = cell.appendChild(document.createElement("span"));
    open.className = "open";
    open.title = "not distinguishable";
    open.textContent = text;
  };

  // As ssdlab.results.intervals.paired_ratio.
  const putPairedRatio = (cell, values, base, t) => {
    const seeds = Object.keys(values).filter((seed) => seed in base);
    const logs = seeds.map((seed) => Math.log(values[seed] / base[seed]));
    const n = logs.length;
    if (n < 2 || seeds.some((seed) => values[seed] <= 0 || base[seed] <= 0)) {
      putRatio(cell, "–");
      return;
    }
    const mean = logs.reduce((sum, x) => sum + x, 0) / n;
    if (logs.every((x) => x === logs[0])) {
      putRatio(cell, `${decimals(Math.exp(mean))} in all pairs`);
      return;
    }
    const square = logs.reduce((sum, x) => sum + (x - mean) ** 2, 0);
    const width = t[n - 2] * Math.sqrt(square / (n - 1) / n);
    const [centre, low, high] = [0, -width, width].map((x) => Math.exp(mean + x));
    putRatio(cell, `${decimals(centre)} [${decimals(low)}, ${decimals(high)}]`, low, high);
  };

  const choice = document.getElementById("baseline");
  const compare = () => {
    const rows = [...document.querySelectorAll("#ratio-table tbody tr")];
    const cells = rows.map((row) => [...row.querySelectorAll(".ratio")]);
    const of = (cell) => [JSON.parse(cell.dataset.raw), JSON.parse(cell.dataset.half)];
    rows.forEach((row, i) => {
      row.classList.toggle("base", i === +choice.value);
      cells[i].forEach((cell, column) => {
        if (cell.dataset.bySeed) {
          const [values, other] = [cell, cells[+choice.value][column]].map((c) => JSON.parse(c.dataset.bySeed));
          if (i === +choice.value) putRatio(cell, "1");
          else putPairedRatio(cell, values, other, JSON.parse(choice.dataset.t));
          return;
        }
        const [value, half] = of(cell);
        const [base, baseHalf] = of(cells[+choice.value][column]);
        if (value === null || !base) { putRatio(cell, "–"); return; }
        const ratio = value / base;
        // A number has no uncertainty against itself.
        if (i === +choice.value || half === null || baseHalf === null || !value) {
          putRatio(cell, decimals(ratio));
          return;
        }
        const width = ratio * Math.hypot(half / value, baseHalf / base);
        putRatio(cell, `${decimals(ratio)} ±\u00a0${decimals(width)}`, ratio - width, ratio + width);
      });
    });
  };
  if (choice) {
    choice.addEventListener("change", compare);
    compare();
  }

  // The plots of one metric at a time.
  const metric = document.getElementById("metric");
  const pick = () => {
    for (const part of document.querySelectorAll("[data-metric]")) part.hidden = part.dataset.metric !== metric.value;
  };
  if (metric) {
    metric.addEventListener("change", pick);
    pick();
  }

  // Colours: those of the system unless others are chosen, which the browser keeps where it may.
  const theme = document.getElementById("theme");
  const root = document.documentElement;
  const paint = (name) => {
    if (name) root.setAttribute("data-theme", name);
    else root.removeAttribute("data-theme");
    for (const act of window.ssdlab.repaint) act();
  };
  theme.value = root.getAttribute("data-theme") || "";
  theme.parentElement.hidden = false;
  theme.addEventListener("change", () => {
    paint(theme.value);
    try {
      if (theme.value) localStorage.setItem("ssdlab-theme", theme.value);
      else localStorage.removeItem("ssdlab-theme");
    } catch { /* A page in a sandbox keeps nothing. */ }
  });
  window.addEventListener("afterprint", () => paint(theme.value));

  window.addEventListener("beforeprint", () => {
    // What is painted with colours that were looked up, once more for paper.
    paint("light");
    // Of the configurations of many runs one is enough.
    for (const part of document.querySelectorAll("section details:first-of-type")) part.open = true;
  });
})();
