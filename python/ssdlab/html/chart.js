"use strict";
// Plots that are used: values under the pointer, zoom over time, curves switched off and on.
(() => {
  const { shown, made, niceStep, tip, showTip, hideTip } = window.ssdlab;

  const linked = [];
  // The plot whose values a tap shows; they stay until the next tap.
  let pinned = null;
  // A button or finger went down inside of a plot and is not up yet.
  let held = false;
  const NEAR = 16;
  const SHORTEST = 6;

  // Values that were written as the first of them and the steps that follow.
  const spread = (x) => {
    if (Array.isArray(x)) return x;
    let at = x.from;
    return [at, ...x.steps.flatMap(([step, count]) => Array.from({ length: count }, () => (at += step)))];
  };

  const words = (text, kind, parent) => {
    const node = parent.appendChild(document.createElement("span"));
    node.setAttribute("class", kind);
    node.textContent = text;
  };

  class Chart {
    constructor(figure) {
      this.svg = figure.querySelector("svg");
      const text = figure.querySelector("script.data");
      this.data = text && JSON.parse(text.textContent);
      this.toggles();
      if (this.data) this.prepare();
      this.hint(figure);
    }

    // Small multiples have several panes with one scale, other plots have one.
    prepare() {
      const { marks, x } = this.data;
      for (const mark of marks) mark.x = typeof mark.x === "number" ? marks[mark.x].x : spread(mark.x);
      const parts = [...this.svg.querySelectorAll(".pane")];
      this.panes = (parts.length ? parts : [this.svg]).map((node, i) => {
        const area = node.querySelector(".area");
        const of = (name) => +area.getAttribute(name);
        return {
          node, top: of("y"), foot: of("y") + of("height"), left: +(node.getAttribute("data-left") || 0),
          down: +(node.getAttribute("data-down") || 0), marks: node.querySelector(".marks"),
          axis: node.querySelector(".x-axis"), first: (node.querySelector(".x-axis") || {}).innerHTML,
          cross: made("path", { class: "cross", d: "" }, node),
          chosen: made("rect", { class: "chosen", width: 0 }, node),
          shown: parts.length ? [i] : marks.map((_, at) => at),
        };
      });
      this.pane = this.panes[0];
      this.beside = this.panes.length > 1 ? "panel" : "";
      this.view = [x.low, x.high];
      this.at = null;
      this.listen();
      if (this.data.linked) linked.push(this);
    }

    toggles() {
      for (const key of this.svg.querySelectorAll(".key")) {
        key.setAttribute("role", "button");
        key.setAttribute("tabindex", "0");
        key.setAttribute("aria-pressed", "true");
        const its = () => this.svg.querySelectorAll(`[data-mark="${key.dataset.keyOf}"]`);
        const flip = (event) => {
          event.preventDefault();
          event.stopPropagation();
          const on = key.getAttribute("aria-pressed") !== "true";
          key.setAttribute("aria-pressed", String(on));
          for (const mark of its()) mark.classList.toggle("off", !on);
        };
        key.addEventListener("click", flip);
        key.addEventListener("keydown", (event) => { if (event.key === "Enter" || event.key === " ") flip(event); });
        // While a name is pointed at, the others fade: what they cover can be seen.
        const pick = (on) => () => {
          this.svg.classList.toggle("picking", on);
          for (const mark of its()) mark.classList.toggle("picked", on);
        };
        for (const [name, on] of [["pointerenter", true], ["focus", true], ["pointerleave", false], ["blur", false]]) {
          key.addEventListener(name, pick(on));
        }
      }
    }

    // What can be done with the plot, below it; plots with which nothing can be done say nothing.
    hint(figure) {
      const names = this.svg.querySelector(".key");
      const zooms = this.data && this.data.linked;
      if (!names && !zooms) return;
      const row = document.createElement("p");
      row.setAttribute("class", "hint");
      if (zooms) {
        this.reset = row.appendChild(document.createElement("button"));
        this.reset.setAttribute("type", "button");
        this.reset.setAttribute("class", "reset");
        this.reset.hidden = true;
        this.reset.textContent = "Reset zoom";
        this.reset.addEventListener("click", () => { zoom(null); this.svg.focus({ preventScroll: true }); });
      }
      const mouse = [zooms && "Drag to zoom, double-click or Esc to reset", names && "click a name to hide it"];
      const touch = [zooms && "Tap for values, drag sideways to zoom", names && "tap a name to hide it"];
      const sentence = (parts) => {
        const text = parts.filter(Boolean).join("; ");
        return `${text[0].toUpperCase()}${text.slice(1)}.`;
      };
      words(sentence(mouse), "mouse", row);
      words(sentence(touch), "touch", row);
      if (this.data) {
        const more = this.beside ? `, up and down change the ${this.beside}` : "";
        const resets = zooms ? "; + and - zoom, 0 or Esc resets" : "";
        words(` Arrow keys: values${more}${resets}.`, "keys", row);
      }
      figure.insertBefore(row, figure.querySelector("figcaption"));
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

    // Where the pointer is, in the units of the drawing, and the pane there if it is inside of one.
    pointer(event) {
      const box = this.svg.getBoundingClientRect();
      const { x: left, y: top, width } = this.svg.viewBox.baseVal;
      const x = left + (event.clientX - box.left) * width / box.width;
      const y = top + (event.clientY - box.top) * width / box.width;
      const { start, end } = this.data.x;
      const inside = this.panes.find((pane) => {
        const [across, down] = [x - pane.left, y - pane.down];
        return across >= start - 4 && across <= end + 4 && down >= pane.top - 4 && down <= pane.foot + 4;
      });
      return { x, y, inside };
    }

    listen() {
      const svg = this.svg;
      svg.addEventListener("pointermove", (event) => this.moved(event));
      svg.addEventListener("pointerdown", (event) => {
        const { x, inside } = this.pointer(event);
        if (event.button || event.isPrimary === false || !inside || event.target.closest(".key")) return;
        const place = x - inside.left;
        const { start, end } = this.data.x;
        if (place < start || place > end) return;
        this.from = { pane: inside, place };
        held = true;
        if (event.pointerType !== "touch") svg.setPointerCapture(event.pointerId);
      });
      svg.addEventListener("pointerup", (event) => this.released(event));
      // The page scrolls instead, or a second finger came.
      svg.addEventListener("pointercancel", () => this.drop());
      svg.addEventListener("lostpointercapture", () => this.drop());
      svg.addEventListener("pointerleave", (event) => { if (event.pointerType !== "touch") this.leave(); });
      svg.addEventListener("blur", () => this.leave());
      svg.addEventListener("dblclick", (event) => {
        // On a text it selects a word.
        if (this.data.linked && !event.target.closest("text") && !event.target.closest(".key")) zoom(null);
      });
      svg.addEventListener("keydown", (event) => this.key(event));
    }

    moved(event) {
      const { x, y, inside } = this.pointer(event);
      const { start, end } = this.data.x;
      const { from } = this;
      const finger = event.pointerType === "touch";
      if (finger && !from) return;
      if (from && this.data.linked) {
        const { pane } = from;
        const [a, b] = [from.place, Math.min(end, Math.max(start, x - pane.left))].sort((p, q) => p - q);
        pane.chosen.setAttribute("y", pane.top);
        pane.chosen.setAttribute("height", pane.foot - pane.top);
        pane.chosen.setAttribute("x", a);
        pane.chosen.setAttribute("width", b - a);
        if (finger) return;
      }
      if (!inside) { this.leave(); return; }
      pinned = null;
      this.pane = inside;
      this.show(this.value(x - inside.left), event.pageX, event.pageY, y);
    }

    released(event) {
      const { from } = this;
      if (!from) return;
      this.drop();
      const { x, y, inside } = this.pointer(event);
      const [a, b] = [from.place, x - from.pane.left].sort((p, q) => p - q);
      if (b - a > SHORTEST) {
        if (this.data.linked) zoom([this.value(a), this.value(b)]);
        else if (event.pointerType === "touch") this.pin(from.pane, x - from.pane.left);
      } else if (event.pointerType === "touch") {
        const same = pinned && pinned.chart === this && pinned.pane === from.pane;
        const again = same && Math.abs(pinned.place - from.place) < NEAR;
        if (again || !inside) { this.leave(); return; }
        this.pane = from.pane;
        this.show(this.value(from.place), event.pageX, event.pageY, y);
        this.pin(from.pane, from.place);
      }
    }

    pin(pane, place) {
      pinned = { chart: this, pane, place };
      tip.classList.toggle("pinned", true);
    }

    // Ends a drag without an effect.
    drop() {
      if (this.from) this.from.pane.chosen.setAttribute("width", 0);
      this.from = undefined;
      held = false;
    }

    key(event) {
      if (event.ctrlKey || event.altKey || event.metaKey) return;
      const xs = this.xs();
      if (event.key === "ArrowLeft" || event.key === "ArrowRight") {
        const step = (event.key === "ArrowRight" ? 1 : -1) * (event.shiftKey ? 10 : 1);
        const inside = xs.map((x, i) => i).filter((i) => xs[i] >= this.view[0] && xs[i] <= this.view[1]);
        if (!inside.length) return;
        const last = inside[inside.length - 1];
        const now = this.at === null ? (step > 0 ? inside[0] : last) - step : this.at;
        this.at = Math.min(last, Math.max(inside[0], now + step));
        this.point(xs);
      } else if (event.key === "ArrowUp" || event.key === "ArrowDown") {
        if (!this.aside(event.key === "ArrowDown" ? 1 : -1)) return;
        this.at = this.at === null ? 0 : this.at;
        this.point(this.xs());
      } else if (event.key === "Escape" || (event.key === "0" && this.data.linked)) {
        this.drop();
        this.leave();
        if (this.data.linked) zoom(null);
      } else if (this.data.linked && (event.key === "+" || event.key === "=" || event.key === "-")) {
        const middle = this.at === null ? (this.view[0] + this.view[1]) / 2 : xs[Math.min(this.at, xs.length - 1)];
        const half = (this.view[1] - this.view[0]) / (event.key === "-" ? 1 : 4);
        zoom([middle - half, middle + half]);
      } else return;
      event.preventDefault();
    }

    // Where the arrow keys stop.
    xs() {
      const { marks } = this.data;
      return this.pane.shown.map((i) => marks[i].x).reduce((best, x) => (x.length > best.length ? x : best), []);
    }

    // The panel above or below; whether there are several.
    aside(step) {
      this.pane = this.panes[this.panes.indexOf(this.pane) + step] || this.pane;
      return this.panes.length > 1;
    }

    // Shows the value that the arrow keys have reached.
    point(xs) {
      this.at = Math.min(this.at, xs.length - 1);
      const box = this.svg.getBoundingClientRect();
      const scale = box.width / this.svg.viewBox.baseVal.width;
      const left = window.scrollX + box.left + (this.pane.left + this.place(xs[this.at])) * scale;
      this.show(xs[this.at], left, window.scrollY + box.top + this.pane.down * scale + 40);
    }

    show(x, pageX, pageY, y) {
      const place = this.place(x);
      for (const { cross, top, foot } of this.panes) cross.setAttribute("d", `M${place} ${top}V${foot}`);
      showTip(this.lines(x, y).join("\n"), pageX, pageY);
    }

    // What there is at `x`.
    lines(x) {
      const { x: across, y: up, marks } = this.data;
      const lines = [`${across.label} ${shown(x, across.unit, 5)}`];
      for (const i of this.pane.shown) {
        const mark = marks[i];
        if (this.svg.querySelector(`.mark[data-mark="${i}"]`).classList.contains("off")) continue;
        const at = nearest(mark.x, x);
        if (at < 0 || mark.y[at] === null) continue;
        let text = `${mark.name}: ${shown(mark.y[at], up.unit)}`;
        if (mark.low && mark.low[at] !== null) {
          text += ` (${shown(mark.low[at], up.unit)} to ${shown(mark.high[at], up.unit)})`;
        }
        lines.push(text);
      }
      return lines;
    }

    leave() {
      for (const { cross } of this.panes) cross.setAttribute("d", "");
      if (pinned && pinned.chart === this) pinned = null;
      hideTip();
    }

    // Shows the times `view`, or all of them.
    look(view) {
      const { low, high, start, end } = this.data.x;
      this.view = view ? [Math.max(low, view[0]), Math.min(high, view[1])] : [low, high];
      if (this.view[1] <= this.view[0]) this.view = [low, high];
      const whole = this.view[0] === low && this.view[1] === high;
      const grow = (high - low) / (this.view[1] - this.view[0]);
      const left = start + (this.view[0] - low) / (high - low) * (end - start);
      for (const pane of this.panes) {
        pane.marks.setAttribute("transform", `translate(${start - left * grow} 0) scale(${grow} 1)`);
        if (!pane.axis) continue;
        pane.axis.innerHTML = pane.first;
        if (!whole) this.ticks(pane);
      }
      if (this.reset) this.reset.hidden = whole;
    }

    // The ticks of a part of the axis; text only where there was some.
    ticks({ axis, top, foot }) {
      const { divisor, most } = this.data.x;
      const named = axis.querySelector("text");
      axis.textContent = "";
      const step = niceStep((this.view[1] - this.view[0]) / divisor, most || 6);
      const decimals = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
      for (let i = Math.ceil(this.view[0] / divisor / step); i * step * divisor <= this.view[1]; i += 1) {
        const x = this.place(i * step * divisor);
        made("path", { class: "grid", d: `M${x} ${foot}V${top}` }, axis);
        if (!named) continue;
        made("text", { class: "tick middle", x, y: foot + 16 }, axis).textContent = (i * step).toFixed(decimals);
      }
    }
  }

  // Counts in cells of time and address: those of the cell under the pointer.
  class AddressMap extends Chart {
    prepare() {
      super.prepare();
      this.row = 0;
      this.beside = "row";
    }

    xs() {
      const { low, bin, columns } = this.data.x;
      return Array.from({ length: columns }, (_, i) => low + (i + 0.5) * bin);
    }

    aside(step) {
      this.row = Math.min(this.data.rows.length - 1, Math.max(0, this.row - step));
      return true;
    }

    lines(x, y) {
      const { x: across, y: up, rows, noun } = this.data;
      const column = Math.min(across.columns - 1, Math.floor((x - across.low) / across.bin));
      if (y !== undefined) {
        const down = (y - this.pane.down - up.start) / (up.end - up.start) * (up.high - up.low);
        this.row = Math.min(rows.length - 1, Math.max(0, Math.floor(down / up.bin)));
      }
      const time = across.low + column * across.bin;
      const from = up.low + this.row * up.bin;
      const range = (first, bin, unit) => `${shown(first, unit, 5)} to ${shown(first + bin, unit, 5)}`;
      return [
        `${across.label} ${range(time, across.bin, across.unit)}`,
        `${up.label} ${range(from, up.bin, up.unit)}`,
        // Beyond the last column there is nothing.
        `${(rows[this.row][column] || 0).toLocaleString("en")} ${noun}`,
      ];
    }
  }

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
    if (!figure.querySelector("svg.plot")) continue;
    if (figure.querySelector(".cells")) new AddressMap(figure);
    else new Chart(figure);
  }
  // A drag over a plot is no selection of text; one that begins elsewhere is.
  document.addEventListener("selectstart", (event) => { if (held) event.preventDefault(); });
  // A tap beside the plot hides its values.
  document.addEventListener("pointerdown", (event) => {
    if (pinned && !pinned.chart.svg.contains(event.target)) pinned.chart.leave();
  });
})();
