"use strict";
// Values under the pointer, zoom over time, curves switched off and on, ratios to another baseline.
// Without it the page shows the same plots and numbers.
(() => {
  const SVG = "http://www.w3.org/2000/svg";
  const tip = document.getElementById("tip");

  const made = (name, attributes, parent) => {
    const node = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
    return parent.appendChild(node);
  };

  const UNITS = {
    ns: [[1e9, " s"], [1e6, " ms"], [1e3, " µs"], [1, " ns"]],
    count: [[1e12, " T"], [1e9, " G"], [1e6, " M"], [1, ""]],
    bytes: [[2 ** 40, " TiB"], [2 ** 30, " GiB"], [2 ** 20, " MiB"], [2 ** 10, " KiB"], [1, " B"]],
    share: [[0.01, " %"]],
  };
  // As `ssd-core`'s metrics/numbers.rs.
  const decimals = (ratio) => {
    if (ratio > 0 && ratio < 0.0005) return "<0.001";
    return ratio >= 999.9995 ? Math.round(ratio).toLocaleString("en") : ratio.toFixed(3);
  };
  // As there, but for more `digits` where a place in time has to be named.
  const shown = (value, unit, digits = 3) => {
    if (unit === "ratio") return decimals(value);
    const rows = UNITS[unit];
    let at = rows.findIndex(([size]) => Math.abs(value) >= size);
    if (at < 0) at = rows.length - 1;
    // Rounded before its unit is chosen: 999.6 µs is 1.00 ms.
    const next = at > 0 && rows[at - 1][0] / rows[at][0];
    if (next && +Math.abs(value / rows[at][0]).toFixed(digits - 3) >= next) at -= 1;
    const number = value / rows[at][0];
    if (number === 0) return `0${rows[at][1]}`;
    if (Math.abs(number) < 0.001) return `${number < 0 ? ">-" : "<"}0.001${rows[at][1]}`;
    if (rows[at][0] === 1 && Number.isInteger(number)) return number.toLocaleString("en") + rows[at][1];
    const rounded = +number.toPrecision(digits);
    const whole = Math.floor(Math.log10(Math.abs(rounded))) + 1;
    if (whole > digits) return Math.round(number).toLocaleString("en") + rows[at][1];
    return rounded.toFixed(digits - whole) + rows[at][1];
  };

  const showTip = (text, x, y) => {
    tip.textContent = text;
    tip.hidden = false;
    const width = tip.offsetWidth;
    const right = window.scrollX + document.documentElement.clientWidth;
    tip.style.left = `${Math.max(window.scrollX + 4, x + 14 + width > right ? x - 14 - width : x + 14)}px`;
    tip.style.top = `${y + 14}px`;
  };
  const hideTip = () => { tip.hidden = true; };
  window.ssdlab = { shown, showTip, hideTip };

  const linked = [];

  class Chart {
    constructor(figure) {
      this.svg = figure.querySelector("svg");
      const text = figure.querySelector("script.data");
      this.data = text && JSON.parse(text.textContent);
      this.toggles();
      if (!this.data) return;
      this.marks = this.svg.querySelector(".marks");
      this.axis = this.svg.querySelector(".x-axis");
      this.first = this.axis.innerHTML;
      this.view = [this.data.x.low, this.data.x.high];
      this.cross = made("path", { class: "cross", d: "" }, this.svg);
      this.chosen = made("rect", { class: "chosen", width: 0 }, this.svg);
      this.at = null;
      this.listen();
      if (this.data.linked) linked.push(this);
    }

    toggles() {
      for (const key of this.svg.querySelectorAll(".key")) {
        key.setAttribute("role", "button");
        key.setAttribute("tabindex", "0");
        key.setAttribute("aria-pressed", "true");
        const flip = (event) => {
          event.preventDefault();
          event.stopPropagation();
          const on = key.getAttribute("aria-pressed") !== "true";
          key.setAttribute("aria-pressed", String(on));
          const marks = this.svg.querySelectorAll(`[data-mark="${key.dataset.keyOf}"]`);
          for (const mark of marks) mark.classList.toggle("off", !on);
        };
        key.addEventListener("click", flip);
        key.addEventListener("keydown", (event) => { if (event.key === "Enter" || event.key === " ") flip(event); });
      }
    }

    place(value) {
      const { start, end, log } = this.data.x;
      const [low, high] = this.view;
      const share = log ? Math.log(value / low) / Math.log(high / low) : (value - low) / (high - low);
      return start + share * (end - start);
    }

    value(place) {
      const { start, end, log } = this.data.x;
      const [low, high] = this.view;
      const share = Math.min(1, Math.max(0, (place - start) / (end - start)));
      return log ? low * (high / low) ** share : low + share * (high - low);
    }

    pointer(event) {
      const box = this.svg.getBoundingClientRect();
      const { x: left, width } = this.svg.viewBox.baseVal;
      return left + (event.clientX - box.left) * width / box.width;
    }

    listen() {
      const svg = this.svg;
      const { start, end } = this.data.x;
      svg.addEventListener("pointermove", (event) => {
        const place = this.pointer(event);
        if (this.from !== undefined) {
          const [a, b] = [this.from, Math.min(end, Math.max(start, place))].sort((p, q) => p - q);
          const area = svg.querySelector(".area");
          for (const key of ["y", "height"]) this.chosen.setAttribute(key, area.getAttribute(key));
          this.chosen.setAttribute("x", a);
          this.chosen.setAttribute("width", b - a);
        }
        if (place < start - 4 || place > end + 4) { this.leave(); return; }
        this.show(this.value(place), event.pageX, event.pageY);
      });
      svg.addEventListener("pointerleave", () => this.leave());
      svg.addEventListener("blur", () => this.leave());
      if (this.data.linked) {
        svg.addEventListener("pointerdown", (event) => {
          const place = this.pointer(event);
          if (event.pointerType === "touch" || event.target.closest(".key")) return;
          if (place < start || place > end) return;
          this.from = place;
          svg.setPointerCapture(event.pointerId);
        });
        svg.addEventListener("pointerup", (event) => {
          if (this.from === undefined) return;
          const [a, b] = [this.from, this.pointer(event)].sort((p, q) => p - q);
          this.from = undefined;
          this.chosen.setAttribute("width", 0);
          if (b - a > 6) zoom([this.value(a), this.value(b)]);
        });
        svg.addEventListener("dblclick", () => zoom(null));
      }
      svg.addEventListener("keydown", (event) => this.key(event));
    }

    key(event) {
      if (event.ctrlKey || event.altKey || event.metaKey) return;
      const xs = this.data.marks.reduce((best, mark) => (mark.x.length > best.length ? mark.x : best), []);
      if (event.key === "ArrowLeft" || event.key === "ArrowRight") {
        const step = (event.key === "ArrowRight" ? 1 : -1) * (event.shiftKey ? 10 : 1);
        const inside = xs.map((x, i) => i).filter((i) => xs[i] >= this.view[0] && xs[i] <= this.view[1]);
        if (!inside.length) return;
        const last = inside[inside.length - 1];
        const now = this.at === null ? (step > 0 ? inside[0] : last) - step : this.at;
        this.at = Math.min(last, Math.max(inside[0], now + step));
        const box = this.svg.getBoundingClientRect();
        const scale = box.width / this.svg.viewBox.baseVal.width;
        const left = window.scrollX + box.left + this.place(xs[this.at]) * scale;
        this.show(xs[this.at], left, window.scrollY + box.top + 40);
      } else if (event.key === "Escape") {
        this.leave();
        if (this.data.linked) zoom(null);
      } else if (this.data.linked && (event.key === "+" || event.key === "-")) {
        const middle = this.at === null ? (this.view[0] + this.view[1]) / 2 : xs[this.at];
        const half = (this.view[1] - this.view[0]) / (event.key === "+" ? 4 : 1);
        zoom([middle - half, middle + half]);
      } else return;
      event.preventDefault();
    }

    show(x, pageX, pageY) {
      const { x: across, y: up, marks } = this.data;
      const place = this.place(x);
      const area = this.svg.querySelector(".area");
      const top = +area.getAttribute("y");
      this.cross.setAttribute("d", `M${place} ${top}V${top + +area.getAttribute("height")}`);
      const lines = [`${across.label} ${shown(x, across.unit, 5)}`];
      marks.forEach((mark, i) => {
        if (this.svg.querySelector(`.mark[data-mark="${i}"]`).classList.contains("off")) return;
        const at = nearest(mark.x, x);
        if (at < 0 || mark.y[at] === null) return;
        let text = `${mark.name}: ${shown(mark.y[at], up.unit)}`;
        if (mark.low && mark.low[at] !== null) {
          text += ` (${shown(mark.low[at], up.unit)} to ${shown(mark.high[at], up.unit)})`;
        }
        lines.push(text);
      });
      showTip(lines.join("\n"), pageX, pageY);
    }

    leave() {
      this.cross.setAttribute("d", "");
      hideTip();
    }

    // Shows the times `view`, or all of them.
    look(view) {
      const { low, high, start, end, divisor } = this.data.x;
      const whole = !view;
      this.view = view ? [Math.max(low, view[0]), Math.min(high, view[1])] : [low, high];
      if (this.view[1] <= this.view[0]) this.view = [low, high];
      const grow = (high - low) / (this.view[1] - this.view[0]);
      const left = start + (this.view[0] - low) / (high - low) * (end - start);
      this.marks.setAttribute("transform", `translate(${start - left * grow} 0) scale(${grow} 1)`);
      this.axis.innerHTML = this.first;
      if (whole) return;
      const area = this.svg.querySelector(".area");
      const top = +area.getAttribute("y");
      const foot = top + +area.getAttribute("height");
      this.axis.textContent = "";
      const step = niceStep((this.view[1] - this.view[0]) / divisor, 6);
      const decimals = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
      for (let i = Math.ceil(this.view[0] / divisor / step); i * step * divisor <= this.view[1]; i += 1) {
        const x = this.place(i * step * divisor);
        made("path", { class: "grid", d: `M${x} ${foot}V${top}` }, this.axis);
        made("text", { class: "tick middle", x, y: foot + 16 }, this.axis).textContent = (i * step).toFixed(decimals);
      }
    }
  }

  const niceStep = (span, most) => {
    const power = 10 ** Math.floor(Math.log10(span / most));
    return [1, 2, 5, 10].map((m) => m * power).find((step) => step >= span / most * (1 - 1e-9));
  };
  window.ssdlab.niceStep = niceStep;

  const nearest = (values, x) => {
    let [low, high] = [0, values.length - 1];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (values[middle] < x) low = middle + 1; else high = middle;
    }
    return low > 0 && x - values[low - 1] < values[low] - x ? low - 1 : low;
  };

  const zoom = (view) => linked.forEach((chart) => chart.look(view));

  for (const figure of document.querySelectorAll("figure")) {
    if (figure.querySelector("svg.plot")) new Chart(figure);
  }

  // A ratio, and that its interval from `low` to `high` leaves open which is lower (as
  // ssdlab.results.intervals.order).
  const putRatio = (cell, text, low, high) => {
    cell.textContent = text;
    if (!(low <= 1 && high >= 1) || low === high) return;
    cell.append(" ");
    cell.appendChild(document.createElement("small")).textContent = "not distinguishable";
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

  window.addEventListener("beforeprint", () => {
    // Of the configurations of many runs one is enough.
    for (const part of document.querySelectorAll("section details:first-of-type")) part.open = true;
  });
})();
