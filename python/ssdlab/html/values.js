"use strict";
// Numbers in words and the box that shows those under the pointer; for the scripts that follow.
// Without them the page shows the same plots and numbers.
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
    tip.classList.toggle("pinned", false);
    const width = tip.offsetWidth;
    const right = window.scrollX + document.documentElement.clientWidth;
    tip.style.left = `${Math.max(window.scrollX + 4, x + 14 + width > right ? x - 14 - width : x + 14)}px`;
    const foot = window.scrollY + window.innerHeight;
    tip.style.top = `${y + 14 + tip.offsetHeight > foot ? y - 14 - tip.offsetHeight : y + 14}px`;
  };
  const hideTip = () => { tip.hidden = true; };

  // The smallest of 1, 2, 5 times a power of ten that divides `span` into at most `most`.
  const niceStep = (span, most) => {
    const power = 10 ** Math.floor(Math.log10(span / most));
    return [1, 2, 5, 10].map((m) => m * power).find((step) => step >= span / most * (1 - 1e-9));
  };

  // What has to be painted again when the colours change.
  const repaint = [];
  window.ssdlab = { shown, decimals, made, niceStep, tip, showTip, hideTip, repaint };
})();
