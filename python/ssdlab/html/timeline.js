"use strict";
// The operations of every chip on a canvas: drag, buttons and keys move; the pointer names.
(() => {
  const canvas = document.getElementById("lanes-canvas");
  if (!canvas) return;
  const { shown, showTip, hideTip, niceStep, repaint } = window.ssdlab;
  const hint = document.getElementById("lanes-how");
  if (hint) hint.hidden = false;
  const data = JSON.parse(document.querySelector("script.operations").textContent);
  const FIELDS = 7;
  const count = data.ops.length / FIELDS;
  const lane = new Uint32Array(count);
  const kind = new Uint8Array(count);
  const start = new Float64Array(count);
  const length = new Float64Array(count);
  let time = data.first;
  let longest = 0;
  for (let i = 0; i < count; i += 1) {
    const at = i * FIELDS;
    lane[i] = data.lanes > 1 || data.chips === 1 ? data.ops[at] : Math.floor(data.ops[at] / data.chips);
    kind[i] = data.ops[at + 1];
    time += data.ops[at + 2];
    start[i] = time;
    length[i] = data.ops[at + 3];
    longest = Math.max(longest, length[i]);
  }

  const LEFT = 44;
  const FOOT = 26;
  const GAP = 4;
  const perChannel = data.lanes;
  const rows = data.channels * perChannel;
  const tall = Math.max(2, Math.min(perChannel > 1 ? 10 : 18, Math.floor(560 / rows)));
  const height = rows * tall + data.channels * GAP + FOOT;
  const top = (row) => row * tall + Math.floor(row / perChannel) * GAP;
  const whole = [data.first, Math.max(data.last, data.first + 1)];
  let view = [...whole];
  let marked = -1;

  const colours = () => {
    const style = getComputedStyle(document.documentElement);
    const of = (name) => style.getPropertyValue(name).trim();
    // A colour that stands for another colour has to be looked up on an element.
    const probe = document.body.appendChild(document.createElement("span"));
    const found = data.kinds.map((_, i) => {
      probe.style.color = `var(--k${i})`;
      return getComputedStyle(probe).color;
    });
    probe.remove();
    return { kinds: found, ink: of("--ink"), faint: of("--faint"), grid: of("--grid") };
  };

  const room = () => canvas.clientWidth - LEFT - 6;
  const place = (t) => LEFT + (t - view[0]) / (view[1] - view[0]) * room();

  // The first operation that may reach into the view: starts are in order.
  const firstFrom = (t) => {
    let [low, high] = [0, count];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (start[middle] < t) low = middle + 1; else high = middle;
    }
    return low;
  };

  const draw = () => {
    const ratio = window.devicePixelRatio || 1;
    canvas.style.height = `${height}px`;
    canvas.width = Math.round(canvas.clientWidth * ratio);
    canvas.height = Math.round(height * ratio);
    const pen = canvas.getContext("2d");
    pen.scale(ratio, ratio);
    const colour = colours();
    pen.font = `12px ${getComputedStyle(document.body).fontFamily}`;
    pen.textBaseline = "middle";
    for (let channel = 0; channel < data.channels; channel += 1) {
      const y = top(channel * perChannel);
      pen.fillStyle = colour.grid;
      pen.globalAlpha = 0.45;
      pen.fillRect(LEFT, y, room(), perChannel * tall);
      pen.globalAlpha = 1;
      if (perChannel * tall >= 11 || channel % Math.ceil(14 / (perChannel * tall + GAP)) === 0) {
        pen.fillStyle = colour.faint;
        pen.textAlign = "right";
        pen.fillText(`ch ${channel}`, LEFT - 5, y + perChannel * tall / 2);
      }
    }
    ticks(pen, colour);
    const edge = tall > 4 ? 1 : 0;
    pen.save();
    pen.beginPath();
    pen.rect(LEFT, 0, room(), height - FOOT);
    pen.clip();
    for (let i = firstFrom(view[0] - longest); i < count && start[i] < view[1]; i += 1) {
      const x = place(start[i]);
      const wide = length[i] / (view[1] - view[0]) * room();
      if (x + wide < LEFT) continue;
      pen.fillStyle = i === marked ? colour.ink : colour.kinds[kind[i]];
      pen.fillRect(x, top(lane[i]), Math.max(wide > 3 ? wide - 0.5 : wide, 0.6), tall - edge);
    }
    pen.restore();
    const range = document.getElementById("lanes-range");
    range.textContent = `${shown(view[0], "ns", 6)} to ${shown(view[1], "ns", 6)}`;
  };

  const ticks = (pen, colour) => {
    const unit = [[1e9, "s"], [1e6, "ms"], [1e3, "µs"], [1, "ns"]].find(([size]) => view[1] >= size) || [1, "ns"];
    const step = niceStep((view[1] - view[0]) / unit[0], Math.max(2, Math.floor(room() / 110)));
    const decimals = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
    pen.textAlign = "center";
    for (let i = Math.ceil(view[0] / unit[0] / step); i * step * unit[0] <= view[1]; i += 1) {
      const x = place(i * step * unit[0]);
      pen.fillStyle = colour.grid;
      pen.fillRect(x, 0, 1, height - FOOT + 4);
      if (x < LEFT + 20 || x > LEFT + room() - 24) continue;
      pen.fillStyle = colour.faint;
      pen.fillText(`${(i * step).toFixed(decimals)} ${unit[1]}`, x, height - 10);
    }
  };

  let asked = false;
  const redraw = () => {
    if (asked) return;
    asked = true;
    requestAnimationFrame(() => { asked = false; draw(); });
  };

  const look = (from, to) => {
    const span = Math.min(Math.max(to - from, 100), whole[1] - whole[0]);
    // The middle stays where it is, even if there is no closer look.
    const low = Math.min(Math.max((from + to - span) / 2, whole[0]), whole[1] - span);
    view = [low, low + span];
    redraw();
  };
  const scale = (by, at = (view[0] + view[1]) / 2) => look(at - (at - view[0]) * by, at + (view[1] - at) * by);
  const move = (share) => {
    const by = (view[1] - view[0]) * share;
    look(view[0] + by, view[1] + by);
  };
  const acts = {
    in: () => scale(0.5), out: () => scale(2), left: () => move(-0.25), right: () => move(0.25),
    all: () => look(...whole),
  };
  for (const button of document.querySelectorAll("#lanes [data-do]")) {
    button.addEventListener("click", acts[button.dataset.do]);
  }
  canvas.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const { in: nearer, out, left, right, all } = acts;
    const keys = {
      ArrowLeft: left, ArrowRight: right, "+": nearer, "=": nearer, "-": out, Home: all, 0: all, Escape: all
    };
    const act = keys[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  });

  const named = (i) => {
    const at = i * FIELDS;
    const [chip, , , , plane, block, page] = data.ops.slice(at, at + FIELDS);
    const unit = `channel ${Math.floor(chip / data.chips)}, chip ${chip % data.chips}, plane ${plane}`;
    const where = `${unit}, block ${block}` + (page < 0 ? "" : `, page ${page}`);
    const when = `from ${shown(start[i], "ns", 9)}, for ${shown(length[i], "ns")}`;
    return `${data.kinds[kind[i]]}\n${where}\n${when}`;
  };
  const under = (x, y) => {
    const t = view[0] + (x - LEFT) / room() * (view[1] - view[0]);
    const near = (view[1] - view[0]) / room() * 1.5;
    for (let i = firstFrom(t + near) - 1; i >= 0 && start[i] >= t - longest - near; i -= 1) {
      const from = top(lane[i]);
      if (y >= from && y < from + tall && start[i] + length[i] >= t - near) return i;
    }
    return -1;
  };
  let held = null;
  const point = (event) => {
    const found = under(event.offsetX, event.offsetY);
    if (found !== marked) { marked = found; redraw(); }
    if (found < 0) hideTip(); else showTip(named(found), event.pageX, event.pageY);
  };
  canvas.addEventListener("pointerdown", (event) => {
    if (event.button || event.isPrimary === false) return;
    held = { x: event.offsetX, view: [...view], moved: false };
    if (event.pointerType !== "touch") canvas.setPointerCapture(event.pointerId);
  });
  // Moving the picture selects no text.
  document.addEventListener("selectstart", (event) => { if (held) event.preventDefault(); });
  canvas.addEventListener("pointerup", (event) => {
    // A tap shows the operation under it, and hides it again.
    if (held && event.pointerType === "touch" && !held.moved) {
      if (marked >= 0 && under(event.offsetX, event.offsetY) === marked) leave(); else point(event);
    }
    held = null;
  });
  canvas.addEventListener("pointercancel", () => { held = null; });
  canvas.addEventListener("pointermove", (event) => {
    if (held) {
      held.moved ||= Math.abs(event.offsetX - held.x) > 4;
      const by = (held.x - event.offsetX) / room() * (held.view[1] - held.view[0]);
      look(held.view[0] + by, held.view[1] + by);
    } else if (event.pointerType !== "touch") point(event);
  });
  const leave = () => { marked = -1; hideTip(); redraw(); };
  canvas.addEventListener("pointerleave", (event) => { if (event.pointerType !== "touch") leave(); });
  document.addEventListener("pointerdown", (event) => {
    if (marked >= 0 && event.target !== canvas) leave();
  });
  canvas.addEventListener("dblclick", (event) => {
    scale(0.4, view[0] + (event.offsetX - LEFT) / room() * (view[1] - view[0]));
  });
  window.addEventListener("resize", redraw);
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  repaint.push(draw);
  // At first so much that single operations can be seen.
  look(whole[0], whole[0] + (whole[1] - whole[0]) * Math.min(1, 1500 / Math.max(count, 1)));
  draw();
})();
