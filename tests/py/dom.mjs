// The page's scripts on a small document object model: as much of a browser as they use, no layout.
// Standard input: {tree, scripts, use}. `tree` is the parsed page, `scripts` run first; `use` then
// acts on the page and returns what is printed as JSON.
import { readFileSync } from "node:fs";
import vm from "node:vm";

const BOX = { left: 100, top: 50, width: 560, height: 290 };

class Node {
  constructor(tag, attributes = {}, parent = null) {
    Object.assign(this, { tag, parent, children: [], listeners: {}, style: {}, hidden: "hidden" in attributes });
    this.attributes = { ...attributes };
    this.dataset = new Proxy({}, {
      get: (_, name) => this.attributes[`data-${name.replace(/[A-Z]/g, (c) => `-${c.toLowerCase()}`)}`],
    });
    const names = () => new Set((this.attributes.class || "").split(" ").filter(Boolean));
    this.classList = {
      contains: (name) => names().has(name),
      toggle: (name, on) => {
        const set = names();
        if (on === undefined ? !set.has(name) : on) set.add(name); else set.delete(name);
        this.attributes.class = [...set].join(" ");
      },
    };
  }

  getAttribute(name) { return name in this.attributes ? this.attributes[name] : null; }
  setAttribute(name, value) { this.attributes[name] = String(value); }
  removeAttribute(name) { delete this.attributes[name]; }
  get parentElement() { return this.parent; }
  insertBefore(child, before) {
    this.appendChild(child);
    if (before) this.children.splice(this.children.indexOf(before), 0, this.children.pop());
    return child;
  }
  contains(node) { return node === this || [...this.below()].includes(node); }
  focus() {}
  appendChild(child) {
    child.parent = this;
    this.children.push(child);
    return child;
  }
  append(...several) { for (const one of several) this.children.push(one); }
  remove() { this.parent.children = this.parent.children.filter((child) => child !== this); }

  get textContent() { return this.children.map((c) => (typeof c === "string" ? c : c.textContent)).join(""); }
  set textContent(text) { this.children = text === "" ? [] : [String(text)]; }
  get innerHTML() { return JSON.stringify(this.children.map(plain)); }
  set innerHTML(text) { this.children = JSON.parse(text).map((child) => built(child, this)); }

  get value() {
    const options = this.querySelectorAll("option");
    const chosen = options.find((one) => "selected" in one.attributes) || options[0];
    return this.chosen === undefined ? chosen.getAttribute("value") : this.chosen;
  }
  set value(text) { this.chosen = text; }

  get viewBox() {
    const [x, y, width, height] = this.attributes.viewBox.split(" ").map(Number);
    return { baseVal: { x, y, width, height } };
  }
  getBoundingClientRect() { return { ...BOX }; }
  get clientWidth() { return BOX.width; }
  get offsetWidth() { return 80; }
  setPointerCapture() {}
  getContext() { return (this.pen ||= pen()); }

  *below() {
    for (const child of this.children) {
      if (typeof child === "string") continue;
      yield child;
      yield* child.below();
    }
  }
  querySelectorAll(selector) {
    const ways = selector.split(",").map((one) => one.trim().split(/ +(?![^[]*\])/));
    return [...this.below()].filter((node) => ways.some((parts) => matches(node, parts)));
  }
  querySelector(selector) { return this.querySelectorAll(selector)[0] || null; }
  closest(selector) {
    for (let node = this; node; node = node.parent) if (matches(node, [selector])) return node;
    return null;
  }

  addEventListener(name, act) { (this.listeners[name] ||= []).push(act); }
  dispatch(type, more = {}) {
    const event = { type, target: this, pageX: 0, pageY: 0, clientX: 0, prevented: false, ...more };
    event.preventDefault = () => { event.prevented = true; };
    event.stopPropagation = () => { event.stopped = true; };
    for (let node = this; node && !event.stopped; node = node.parent) {
      for (const act of node.listeners[type] || []) act(event);
    }
    return event;
  }
}

const simple = (node, part) => {
  for (const piece of part.match(/^[\w-]+|[.#][\w-]+|\[[^\]]+\]|:[\w-]+/g)) {
    const [, name, , value] = /^\[([\w-]+)(="([^"]*)")?\]$/.exec(piece) || [];
    const met = piece[0] === "." ? node.classList.contains(piece.slice(1))
      : piece[0] === "#" ? node.attributes.id === piece.slice(1)
      : piece[0] === "[" ? name in node.attributes && (value === undefined || node.attributes[name] === value)
      : piece[0] === ":" ? node.parent.children.find((child) => child.tag === node.tag) === node
      : node.tag === piece;
    if (!met) return false;
  }
  return true;
};
const matches = (node, parts) => {
  if (!simple(node, parts[parts.length - 1])) return false;
  if (parts.length === 1) return true;
  for (let above = node.parent; above; above = above.parent) {
    if (matches(above, parts.slice(0, -1))) return true;
  }
  return false;
};

const plain = (node) => (typeof node === "string" ? node : [node.tag, node.attributes, node.children.map(plain)]);
const built = (tree, parent) => {
  if (typeof tree === "string") return tree;
  const [tag, attributes, children] = tree;
  const node = new Node(tag, attributes, parent);
  node.children = children.map((child) => built(child, node));
  return node;
};

// What is drawn on the canvas, as a list of calls with the colour they are drawn in.
const pen = () => {
  const calls = [];
  return new Proxy({ calls }, {
    get: (state, name) => (name in state ? state[name] : (...words) => {
      calls.push([name, ...words, ...(String(name).startsWith("fill") ? [state.fillStyle] : [])]);
    }),
    set: (state, name, value) => { state[name] = value; return true; },
  });
};

const { tree, scripts, use } = JSON.parse(readFileSync(0, "utf-8"));
const root = built(tree, null);
const page = {
  document: Object.assign(root, {
    documentElement: new Node("html"),
    body: root.querySelector("body"),
    getElementById: (id) => root.querySelector(`#${id}`),
    createElementNS: (_, tag) => new Node(tag),
    createElement: (tag) => new Node(tag),
  }),
  getComputedStyle: (node) => ({ ...node.style, fontFamily: "f", getPropertyValue: (name) => ` ${name} ` }),
  requestAnimationFrame: (act) => { page.frames.push(act); },
  matchMedia: () => new Node("media"),
  frames: [],
  listeners: {},
  addEventListener: (name, act) => { (page.listeners[name] ||= []).push(act); },
  scrollX: 0,
  scrollY: 7,
  devicePixelRatio: 2,
  JSON,
};
page.window = page;
vm.createContext(page);
for (const script of scripts) vm.runInContext(script, page);
process.stdout.write(JSON.stringify(vm.runInContext(`(() => { ${use} })()`, page)));
