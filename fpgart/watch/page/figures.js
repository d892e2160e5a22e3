// SPDX-License-Identifier: Apache-2.0
// Draws the figures of the report's page on canvases. A row's spans are in the order of time and do not overlap, so that
// what is in view is found by bisection; spans narrower than a pixel are drawn together, as one line per pixel.
"use strict";
(() => {
const data = JSON.parse(document.getElementById("data").textContent);
const root = document.documentElement;
const ROW = 20, TIGHT_ROW = 7, MANY_ROWS = 8, LEVEL = 40, GAP = 6, AXIS = 22, GROUP = 20, BANK = 64, FILLING = 56;
const NARROW = 640, GUTTER = 190, LEAST_NS = 2, HEAD = 8;
const FONT = "11px system-ui, sans-serif", BOLD = "600 12px system-ui, sans-serif";
const hidden = new Set();
let theme = {};

// Words

const UNITS = [[1e9, "s"], [1e6, "ms"], [1e3, "µs"], [1, "ns"]];
function duration(ns) {
  const [unit, name] = UNITS.find(([unit]) => Math.abs(ns) >= unit) ?? UNITS[3];
  return `${+(ns / unit).toPrecision(4)} ${name}`;
}
// A duration with as many digits as tell ticks apart.
function tick(ns, step) {
  const [unit, name] = UNITS.find(([unit]) => Math.abs(ns) >= unit) ?? UNITS[3];
  return `${(ns / unit).toFixed(Math.max(0, Math.ceil(-Math.log10(step / unit) - 1e-9)))} ${name}`;
}
function bytes(n) {
  const units = ["bytes", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  while (n >= 1024 && unit < 4) { n /= 1024; unit++; }
  return `${+n.toPrecision(4)} ${units[unit]}`;
}
const text = number => data.words[number];

// Colours

function readTheme() {
  const style = getComputedStyle(root), probe = document.createElement("i");
  document.body.append(probe);
  const resolve = css => { probe.style.color = css; return getComputedStyle(probe).color; };
  theme = {};
  for (const name of ["back", "text", "faint", "line", "shade", "mark", "bank", "holes"])
    theme[name] = style.getPropertyValue(`--${name}`).trim();
  theme.colours = data.colours.map(resolve);
  theme.buffers = data.memory ? data.memory.colours.map(resolve) : [];
  theme.ink = new Map([...theme.colours, ...theme.buffers].map(css => [css, inkOn(css)]));
  probe.remove();
  for (const part of document.querySelectorAll(".stack span")) part.style.color = inkOn(getComputedStyle(part).backgroundColor);
}
// Black or white, whichever stands out more.
function inkOn(css) {
  const [r, g, b] = css.match(/[\d.]+/g).map(part => {
    const c = part / 255;
    return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.179 ? "#000" : "#fff";
}
const dark = matchMedia("(prefers-color-scheme: dark)");
function useTheme() {
  const chosen = root.dataset.chosen ?? "auto";
  const paper = root.classList.contains("paper");
  root.dataset.theme = !paper && (chosen === "dark" || (chosen === "auto" && dark.matches)) ? "dark" : "light";
  readTheme();
  for (const chart of charts) chart.draw();
}

// What is in view of a time base; all charts of one base share it. Its own scale is the time, but for what is folded:
// that takes a little of it only, however long it is.
const FOLDED = 0.04;
class View {
  constructor({ first, end, folds }) {
    const length = ([begin, end]) => end - begin, kept = FOLDED * (end - folds.reduce((sum, fold) => sum + length(fold), 0));
    this.folds = folds.map(fold => ({ begin: fold[0], end: fold[1], kept: Math.max(kept, LEAST_NS) }));
    this.first = first; this.last = end; this.end = this.of(end); this.charts = []; this.range = null;
    this.show(0, this.end);
  }
  of(ns) { // where a time is on the scale
    let cut = 0;
    for (const { begin, end, kept } of this.folds) {
      if (ns <= begin) break;
      if (ns < end) return begin - cut + (ns - begin) / (end - begin) * kept;
      cut += end - begin - kept;
    }
    return ns - cut;
  }
  time(at) { // the time at a place on the scale: of() the other way
    let cut = 0;
    for (const { begin, end, kept } of this.folds) {
      const from = begin - cut;
      if (at <= from) break;
      if (at < from + kept) return begin + (at - from) / kept * (end - begin);
      cut += end - begin - kept;
    }
    return at + cut;
  }
  choose(range) { // a range of the scale, or null, for all charts of the base
    this.range = range && { begin: Math.min(...range), end: Math.max(...range) };
    document.getElementById("range").textContent = this.range ? rangeInWords(this) : "";
    for (const chart of this.charts) chart.redraw();
  }
  stretches() { // what is not folded
    const borders = [this.first, ...this.folds.flatMap(({ begin, end }) => [begin, end]), this.last];
    return borders.flatMap((at, i) => i % 2 ? [] : [[at, borders[i + 1]]]);
  }
  show(begin, end) {
    const length = Math.min(Math.max(end - begin, LEAST_NS), this.end - this.first);
    begin = Math.min(Math.max(begin, this.first), this.end - length);
    this.left = begin; this.right = begin + length;
    for (const chart of this.charts) chart.redraw();
  }
  zoom(factor, at = (this.left + this.right) / 2) {
    this.show(at - (at - this.left) * factor, at + (this.right - at) * factor);
  }
  move(share) { const by = share * (this.right - this.left); this.show(this.left + by, this.right + by); }
}

function bisect(values, wanted, from, to) { // the first index at which the value is greater
  while (from < to) {
    const middle = (from + to) >> 1;
    if (values[middle] > wanted) to = middle; else from = middle + 1;
  }
  return from;
}

// A canvas with lanes above each other and a time axis.
class Chart {
  constructor(id, view, lanes, arrows = []) {
    this.canvas = document.getElementById(id);
    this.view = view; this.lanes = lanes; this.arrows = arrows; this.pending = false; this.mark = null; this.chosen = 0; this.selected = null; this.related = [];
    this.pointers = new Map();
    view.charts.push(this);
    this.listen();
  }
  get gutter() { return this.width < NARROW ? 0 : GUTTER; }
  layout() {
    this.width = this.canvas.clientWidth || 1;
    let y = AXIS, group = null;
    for (const lane of this.lanes) {
      if (lane.group !== group) { group = lane.group; lane.heading = y; y += group ? GROUP : 0; } else lane.heading = null;
      if (!this.gutter) y += 15;
      lane.y = y;
      y += lane.height + GAP;
    }
    this.height = y;
    const ratio = root.classList.contains("paper") ? 2 : window.devicePixelRatio || 1;
    this.canvas.style.height = `${y}px`;
    if (this.canvas.width !== Math.round(this.width * ratio) || this.canvas.height !== Math.round(y * ratio)) {
      this.canvas.width = Math.round(this.width * ratio);
      this.canvas.height = Math.round(y * ratio);
    }
    this.ratio = ratio;
  }
  redraw() {
    if (this.pending) return;
    this.pending = true;
    requestAnimationFrame(() => { this.pending = false; this.draw(); });
  }
  x(ns) { return this.gutter + (ns - this.view.left) / (this.view.right - this.view.left) * (this.width - this.gutter); }
  at(x) { return this.view.left + (x - this.gutter) / (this.width - this.gutter) * (this.view.right - this.view.left); }
  draw() {
    if (!this.canvas.offsetParent) return;
    this.layout();
    const c = this.context = this.canvas.getContext("2d");
    c.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    c.fillStyle = theme.back; c.fillRect(0, 0, this.width, this.height);
    this.axis(c);
    for (const lane of this.lanes) this.drawLane(c, lane);
    this.drawArrows(c);
    if (this.view.range) this.shadeRange(c, this.view.range);
    if (this.mark !== null) this.line(c, this.mark, theme.mark);
    for (const found of this.related) this.outline(c, found, 1);
    if (this.selected) this.outline(c, this.selected, 2);
  }
  axis(c) {
    const span = this.view.right - this.view.left, wanted = span / Math.max(2, (this.width - this.gutter) / 110);
    const power = 10 ** Math.floor(Math.log10(wanted));
    const step = Math.max(1, [1, 2, 5, 10].find(m => m * power >= wanted) * power);
    c.font = FONT; c.textAlign = "left"; c.textBaseline = "middle";
    for (const at of this.ticks(step)) {
      const x = Math.round(this.x(this.view.of(at))) + 0.5;
      c.fillStyle = at === 0 ? theme.faint : theme.line; c.fillRect(x, AXIS - 6, 1, this.height);
      const label = at === 0 ? "0" : tick(at, step);
      c.fillStyle = theme.faint;
      if (x + 3 + c.measureText(label).width < this.width) c.fillText(label, x + 3, AXIS / 2 - 1);
    }
  }
  ticks(step) {
    const found = [], view = this.view;
    for (const [begin, end] of view.stretches()) {
      const cut = begin - view.of(begin), from = Math.max(begin, view.left + cut), to = Math.min(end, view.right + cut);
      for (let at = Math.ceil(from / step) * step; at <= to; at += step) found.push(at);
    }
    return found;
  }
  drawLane(c, lane) {
    if (lane.heading !== null && lane.group) {
      c.font = BOLD; c.fillStyle = theme.text; c.textBaseline = "middle"; c.textAlign = "left";
      c.fillText(lane.group, 2, lane.heading + GROUP / 2);
    }
    const y = lane.y + lane.height / 2;
    c.font = lane === this.lanes[this.chosen] && document.activeElement === this.canvas ? BOLD : FONT;
    c.fillStyle = theme.text; c.textBaseline = "middle"; c.textAlign = "left";
    const room = this.gutter ? this.gutter - 14 : this.width - 4;
    const lines = this.gutter && lane.height > 30 && lane.under ? [[lane.name, -7], [lane.under, 8]] : [[lane.name, 0]];
    for (const [words, dy] of lines)
      c.fillText(shortened(c, words, room), this.gutter ? 8 : 2, this.gutter ? y + dy : lane.y - 8);
    c.fillStyle = theme.shade; c.fillRect(this.gutter, lane.y, this.width - this.gutter, lane.height);
    c.save();
    c.beginPath(); c.rect(this.gutter, lane.y - 1, this.width - this.gutter, lane.height + 2); c.clip();
    lane.draw(c, this);
    c.restore();
  }
  drawArrows(c) { // of packets, from the lane and time of who wrote them to those of who read them
    c.save();
    c.beginPath(); c.rect(this.gutter, AXIS, this.width - this.gutter, this.height - AXIS); c.clip();
    c.strokeStyle = c.fillStyle = theme.text; c.lineWidth = 1.2; c.globalAlpha = 0.75;
    for (const [source, begin, target, end] of this.arrows) {
      const from = this.lanes[source], to = this.lanes[target], down = to.y > from.y;
      const x0 = this.x(this.view.of(begin)), x1 = this.x(this.view.of(end));
      const y0 = down ? from.y + from.height : from.y, y1 = down ? to.y : to.y + to.height;
      const turn = Math.atan2(y1 - y0, x1 - x0);
      c.beginPath(); c.moveTo(x0, y0); c.lineTo(x1, y1); c.stroke();
      c.beginPath(); c.moveTo(x1, y1);
      for (const side of [0.4, -0.4]) c.lineTo(x1 - HEAD * Math.cos(turn + side), y1 - HEAD * Math.sin(turn + side));
      c.fill();
    }
    c.restore();
  }
  line(c, at, css) {
    const x = Math.round(this.x(at));
    if (x < this.gutter) return;
    c.fillStyle = css; c.fillRect(x, AXIS - 4, 1.5, this.height);
  }
  shadeRange(c, { begin, end }) {
    const x0 = Math.max(this.x(begin), this.gutter), x1 = Math.min(this.x(end), this.width);
    if (x1 < x0) return;
    c.globalAlpha = 0.18; c.fillStyle = theme.mark; c.fillRect(x0, AXIS - 6, Math.max(x1 - x0, 1), this.height);
    c.globalAlpha = 1;
    for (const x of [x0, x1]) c.fillRect(Math.round(x), AXIS - 6, 1, this.height);
  }
  outline(c, found, width) {
    const x0 = Math.max(this.x(found.begin), this.gutter), x1 = Math.min(this.x(found.end), this.width);
    if (x1 < x0) return;
    c.strokeStyle = theme.text; c.lineWidth = width; c.strokeRect(x0 - 1, found.y, Math.max(x1 - x0, 1) + 2, found.height);
  }
  hit(x, y) {
    if (x < this.gutter) return null;
    const lane = this.lanes.find(lane => y >= lane.y && y < lane.y + lane.height);
    return lane ? lane.hit(this, x, y) : null;
  }
  label(x, y) { // of the lane whose name is there
    const lane = this.gutter && x < this.gutter && this.lanes.find(l => y >= l.y && y < l.y + l.height);
    return lane ? { title: lane.name, words: lane.under ?? "" } : null;
  }
  tell(found) {
    this.selected = found;
    this.related = found?.command ? this.spansOf(found.command) : [];
    const says = document.getElementById("details");
    says.replaceChildren(found ? `${found.title}\n${found.words}` : "", ...(found ? report.linksOf(found) : []));
    this.redraw();
  }
  spansOf(command) { // what a command did, and the call that enqueued it, which began first
    if (!this.byCommand) {
      this.byCommand = new Map();
      for (const lane of this.lanes)
        (lane.rows ?? []).forEach(([from, to], row) => {
          for (let i = from; i < to; i++) {
            const number = lane.columns.command[i], known = this.byCommand.get(number);
            if (number && known) known.push([lane, row, i]); else if (number) this.byCommand.set(number, [[lane, row, i]]);
          }
        });
    }
    const found = (this.byCommand.get(command) ?? []).map(([lane, row, i]) => lane.described(i, row));
    return found.sort((one, other) => one.begin - other.begin);
  }

  // Mouse, fingers and keys

  listen() {
    const canvas = this.canvas;
    canvas.addEventListener("wheel", event => {
      if (event.ctrlKey || event.metaKey) this.view.zoom(1.0015 ** event.deltaY, this.at(event.offsetX));
      else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY))
        this.view.move((event.deltaX || event.deltaY) / this.width);
      else return; // a plain wheel moves the page
      event.preventDefault();
    }, { passive: false });
    canvas.addEventListener("pointerdown", event => {
      canvas.setPointerCapture(event.pointerId);
      this.pointers.set(event.pointerId, event.offsetX);
      this.moved = 0;
      this.from = event.shiftKey || selecting() ? this.at(event.offsetX) : null;
    });
    canvas.addEventListener("pointermove", event => this.pointed(event));
    canvas.addEventListener("pointerleave", () => tip.hidden = true);
    for (const name of ["pointerup", "pointercancel"])
      canvas.addEventListener(name, event => {
        if (name === "pointerup" && this.pointers.size === 1 && this.moved < 4)
          this.tell(this.hit(event.offsetX, event.offsetY));
        if (this.from !== null && this.moved >= 4) report.rangeChosen(this.view);
        this.from = null;
        this.pointers.delete(event.pointerId);
      });
    canvas.addEventListener("keydown", event => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      if (this.key(event.key)) event.preventDefault();
    });
    for (const name of ["focus", "blur"]) canvas.addEventListener(name, () => this.redraw());
  }
  pointed(event) {
    const before = this.pointers.get(event.pointerId), x = event.offsetX;
    if (before === undefined) {
      const found = this.hit(x, event.offsetY) ?? this.label(x, event.offsetY);
      showTip(found, event);
      return;
    }
    tip.hidden = true;
    const inside = this.width - this.gutter, span = this.view.right - this.view.left;
    this.moved += Math.abs(x - before);
    if (this.from !== null && this.pointers.size === 1) this.view.choose([this.from, this.at(x)]);
    else if (this.pointers.size === 1) this.view.move((before - x) / inside);
    else {
      const [other] = [...this.pointers].find(([id]) => id !== event.pointerId);
      const fixed = this.pointers.get(other), now = Math.max(Math.abs(x - fixed), 1);
      if (span) this.view.zoom(Math.max(Math.abs(before - fixed), 1) / now, this.at(fixed));
    }
    this.pointers.set(event.pointerId, x);
  }
  key(key) {
    const view = this.view;
    const keys = {
      "+": () => view.zoom(0.7), "=": () => view.zoom(0.7), w: () => view.zoom(0.7),
      "-": () => view.zoom(1 / 0.7), s: () => view.zoom(1 / 0.7),
      ArrowLeft: () => view.move(-0.1), a: () => view.move(-0.1), ArrowRight: () => view.move(0.1), d: () => view.move(0.1),
      Home: () => view.show(0, view.end), 0: () => view.show(0, view.end),
      ArrowUp: () => this.choose(-1), ArrowDown: () => this.choose(1),
      ".": () => this.step(1), ",": () => this.step(-1),
      Enter: () => this.selected && this.fit(this.selected),
      Escape: () => { this.tell(null); this.view.choose(null); report.rangeChosen(view); },
      "[": () => this.border(this.selected?.begin ?? view.left, view.range?.end ?? view.right),
      "]": () => this.border(view.range?.begin ?? view.left, this.selected?.end ?? view.right),
    };
    keys[key]?.();
    return key in keys;
  }
  border(begin, end) { this.view.choose([begin, end]); report.rangeChosen(this.view); }
  choose(by) {
    this.chosen = Math.min(Math.max(this.chosen + by, 0), this.lanes.length - 1);
    const lane = this.lanes[this.chosen];
    this.tell(lane.nth?.(0) ?? { title: lane.name, words: lane.under ?? "", begin: 0, end: 0, y: lane.y, height: lane.height });
  }
  step(by) { // to the next thing of the chosen lane
    const lane = this.lanes[this.chosen];
    if (!lane.nth) return;
    const found = lane.nth((this.selected?.place ?? -by) + by);
    if (!found) return;
    this.tell(found);
    const length = this.view.right - this.view.left, middle = (found.begin + found.end) / 2;
    if (found.begin < this.view.left || found.end > this.view.right) this.view.show(middle - length / 2, middle + length / 2);
  }
  fit(found) { const margin = (found.end - found.begin) * 0.1; this.view.show(found.begin - margin, found.end + margin); }
}

// What spans do within a range: per kind, how long at least one of them is under way, how many begin there, and what
// those move. Queues are left out: what runs in them has lanes of its own.
function sumsOf(view) {
  const { begin, end } = view.range, sums = new Map(), c = view.columns;
  for (const lane of view.lanes.filter(lane => !lane.queue))
    for (const [from, to] of lane.rows)
      for (let i = from; i < to; i++) {
        const since = Math.max(c.at[i], begin), until = Math.min(c.at[i] + c.wide[i], end);
        if (since > until || hidden.has(c.colour[i])) continue;
        const sum = sums.get(c.colour[i]) ?? { times: 0, size: 0, held: [] };
        const begins = c.at[i] >= begin && c.at[i] < end;
        sum.times += begins; sum.size += begins ? c.size[i] : 0;
        sum.held.push([since, until]);
        sums.set(c.colour[i], sum);
      }
  return [...sums].map(([colour, { times, size, held }]) => ({ kind: data.kinds[colour], times, size, took: covered(view, held) }))
    .filter(sum => sum.took || sum.times).sort((one, other) => other.took - one.took);
}
function covered(view, held) { // nanoseconds in which at least one is under way
  let sum = 0, reached = -Infinity;
  for (const [since, until] of held.sort((one, other) => one[0] - other[0])) {
    const from = Math.max(since, reached);
    if (until > from) sum += view.time(until) - view.time(from);
    reached = Math.max(reached, until);
  }
  return sum;
}
function rangeInWords(view) {
  const from = view.time(view.range.begin), to = view.time(view.range.end);
  const lines = [`range from ${duration(from)} to ${duration(to)}: ${duration(to - from)}`];
  for (const { kind, took, times, size } of sumsOf(view)) {
    const share = (100 * took / Math.max(to - from, 1)).toFixed(1);
    lines.push(`${kind}: ${duration(took)} (${share} %), ${times} begin${size ? `, ${bytes(size)}` : ""}`);
  }
  return lines.join("\n");
}
const selecting = () => document.getElementById("select").getAttribute("aria-pressed") === "true";

function shortened(c, words, room) {
  if (c.measureText(words).width <= room) return words;
  let length = Math.floor(words.length * room / c.measureText(words).width);
  while (length > 1 && c.measureText(`${words.slice(0, length)}…`).width > room) length--;
  return `${words.slice(0, length)}…`;
}

const tip = document.getElementById("tip");
function showTip(found, event) {
  tip.hidden = !found;
  if (!found) return;
  const title = document.createElement("b");
  title.textContent = found.title;
  tip.replaceChildren(title, found.words);
  const box = tip.getBoundingClientRect();
  tip.style.left = `${Math.max(4, Math.min(event.clientX + 12, innerWidth - box.width - 8))}px`;
  tip.style.top = `${event.clientY + 16 + box.height > innerHeight ? event.clientY - box.height - 8 : event.clientY + 16}px`;
}

// Spans in rows; for a channel, how many packets it held above them.
class SpanLane {
  constructor(lane, columns) {
    Object.assign(this, lane);
    this.columns = columns;
    this.row = lane.rows.length > MANY_ROWS ? TIGHT_ROW : ROW;
    this.levels = lane.capacity !== undefined ? LEVEL : 0;
    this.under = this.levels ? `of ${lane.capacity} packets` : null;
    if (this.levels && lane.rows.length) this.row = 9;
    this.height = this.levels + this.row * this.rows.length;
  }
  draw(c, chart) {
    if (this.levels) drawSteps(c, chart, this.at, this.packets, this.y + this.levels, this.levels / this.capacity, theme.bank);
    this.rows.forEach((row, number) => this.drawRow(c, chart, row, this.y + this.levels + number * this.row + 1));
  }
  drawRow(c, chart, [from, to], y) {
    const { at: begin, wide: length, colour, name } = this.columns, height = this.row - 2;
    const per = (chart.width - chart.gutter) / (chart.view.right - chart.view.left);
    const left = chart.view.left, zero = chart.gutter, right = chart.view.right;
    let pixel = -1, covered = 0, longest = 0, shade = 0; // of what is drawn together
    const flush = () => {
      if (pixel < 0) return;
      c.globalAlpha = Math.max(0.35, Math.min(1, covered * per));
      c.fillStyle = theme.colours[shade]; c.fillRect(pixel, y, 1, height);
      c.globalAlpha = 1; pixel = -1; covered = longest = 0;
    };
    c.font = FONT; c.textBaseline = "middle"; c.textAlign = "left";
    for (let i = this.firstVisible(from, to, left); i < to && begin[i] < right; i++) {
      if (hidden.has(colour[i])) continue;
      const x0 = zero + (begin[i] - left) * per, width = length[i] * per;
      if (width < 1.5) {
        const column = Math.floor(x0);
        if (column !== pixel) { flush(); pixel = column; }
        covered += length[i];
        if (length[i] >= longest) { longest = length[i]; shade = colour[i]; }
        continue;
      }
      flush();
      const css = theme.colours[colour[i]];
      c.fillStyle = css; c.fillRect(x0, y, width > 3 ? width - 0.7 : width, height);
      const inside = Math.max(x0, zero), shown = Math.min(x0 + width, chart.width) - inside;
      if (shown > 34 && height > 12) {
        c.fillStyle = theme.ink.get(css);
        c.fillText(shortened(c, text(name[i]), shown - 6), inside + 3, y + height / 2 + 0.5);
      }
    }
    flush();
  }
  firstVisible(from, to, left) {
    const { at: begin, wide: length } = this.columns;
    let first = Math.max(from, bisect(begin, left, from, to) - 1);
    if (first < to && begin[first] + length[first] < left) first++;
    return first;
  }
  hit(chart, x, y) {
    const at = chart.at(x), near = 2 * (chart.view.right - chart.view.left) / (chart.width - chart.gutter);
    if (this.levels && y < this.y + this.levels) return this.levelAt(at);
    const row = Math.min(Math.floor((y - this.y - this.levels) / this.row), this.rows.length - 1);
    if (row < 0) return null;
    const [from, to] = this.rows[row], { at: begin, wide: length } = this.columns;
    let best = null, distance = near;
    const last = bisect(begin, at + near, from, to);
    for (let i = Math.max(from, last - 3); i < last; i++) {
      const away = Math.max(begin[i] - at, at - begin[i] - length[i], 0);
      if (away <= distance) { distance = away; best = i; }
    }
    return best === null ? null : this.described(best, row);
  }
  levelAt(at) {
    const i = bisect(this.at, at, 0, this.at.length) - 1;
    if (i < 0) return null;
    return { title: `${this.name}: ${this.packets[i]} of ${this.capacity} packets`, words: `at ${duration(this.at[i])}`,
      begin: this.at[i], end: this.at[i + 1] ?? this.at[i], y: this.y, height: this.levels };
  }
  described(i, row) {
    const { begin, length, at, wide, name, words, command, buffer } = this.columns;
    return { command: command[i], buffer: buffer[i], title: text(name[i]), words: `${this.group}, ${this.name}: at ${duration(begin[i])}, ${duration(length[i])}\n${text(words[i])}`,
      begin: at[i], end: at[i] + wide[i], y: this.y + this.levels + row * this.row, height: this.row, place: i };
  }
  nth(place) { // by its place in the columns, or the first one
    const row = this.rows.findIndex(([from, to]) => place >= from && place < to);
    if (row >= 0) return this.described(place, row);
    return this.rows.length && place < this.rows[0][0] ? this.described(this.rows[0][0], 0) : null;
  }
}

// A value that changes in steps; per pixel the range that it has there.
function drawSteps(c, chart, at, values, floor, scale, css, alpha = 0.75) {
  c.fillStyle = css; c.globalAlpha = alpha;
  let i = Math.max(bisect(at, chart.view.left, 0, at.length) - 1, 0);
  for (; i < at.length && at[i] < chart.view.right; i++) {
    const x0 = Math.max(chart.x(at[i]), chart.gutter);
    let x1 = i + 1 < at.length ? chart.x(at[i + 1]) : x0 + 1, most = values[i];
    while (x1 < x0 + 1 && i + 1 < at.length) {
      i++; most = Math.max(most, values[i]);
      x1 = i + 1 < at.length ? chart.x(at[i + 1]) : x0 + 1;
    }
    c.fillRect(x0, floor - most * scale, Math.max(x1 - x0, 1), most * scale);
  }
  c.globalAlpha = 1;
}

// A bank: addresses upwards, time to the right. All banks have one scale.
class BankLane {
  constructor(number, lane) {
    Object.assign(this, lane);
    this.number = number; this.group = ""; this.height = BANK;
    this.under = `0 to ${bytes(data.memory.scale)}${lane.size ? ` of ${lane.size}` : ""}`;
    this.boxes = [];
  }
  draw(c, chart) {
    const memory = data.memory, per = this.height / memory.scale;
    if (this.stripes > 1) this.drawStripes(c, chart);
    let drawn = "";
    for (const i of this.boxes) {
      if (memory.end[i] < chart.view.left || memory.begin[i] > chart.view.right) continue;
      const x0 = chart.x(memory.begin[i]), width = Math.max(chart.x(memory.end[i]) - x0, 1);
      const height = Math.max(memory.size[i] * per, 1), y = this.y + this.height - memory.offset[i] * per - height;
      const key = `${Math.floor(x0)} ${Math.floor(y)}`;
      if (width <= 1 && key === drawn) continue;
      drawn = key;
      c.fillStyle = theme.buffers[memory.colour[i]]; c.fillRect(x0, y, width, height);
      if (height > 13 && width > 20) {
        c.fillStyle = theme.ink.get(theme.buffers[memory.colour[i]]); c.font = FONT; c.textBaseline = "middle";
        c.fillText(shortened(c, `${memory.buffer[i]}`, width - 6), Math.max(x0, chart.gutter) + 3, y + height / 2);
      }
    }
  }
  drawStripes(c, chart) { // a mark at the left for the banks that each block lies in
    const height = this.height / (2 * this.stripes);
    c.fillStyle = theme.line;
    for (let i = 0; i < this.stripes; i++) c.fillRect(chart.gutter, this.y + 2 * i * height, chart.width, height);
  }
  hit(chart, x, y) {
    const memory = data.memory, at = chart.at(x), near = (chart.view.right - chart.view.left) / chart.width;
    const offset = (this.y + this.height - y) / this.height * memory.scale, close = memory.scale / this.height;
    for (let k = this.boxes.length - 1; k >= 0; k--) {
      const i = this.boxes[k];
      if (memory.begin[i] <= at + near && memory.end[i] >= at - near && memory.offset[i] <= offset + close
          && memory.offset[i] + memory.size[i] >= offset - close) return this.described(i, k);
    }
    return null;
  }
  described(i, place) {
    const memory = data.memory;
    return { buffer: memory.buffer[i], title: text(memory.words[i]), words: `from ${duration(memory.begin[i])} to ${duration(memory.end[i])}`,
      begin: memory.begin[i], end: memory.end[i], y: this.y, height: this.height, place };
  }
  nth(place) {
    place = Math.max(place, 0);
    return place < this.boxes.length ? this.described(this.boxes[place], place) : null;
  }
}

// How full a memory is: blocks, and holes on top of them.
class FillingLane {
  constructor(filling, most) {
    Object.assign(this, filling);
    this.group = ""; this.name = `${filling.memory}: in use`; this.height = FILLING; this.most = most;
    this.under = `0 to ${bytes(most)}; holes above`;
    this.both = this.used.map((used, i) => used + this.holes[i]);
  }
  draw(c, chart) {
    drawSteps(c, chart, this.at, this.both, this.y + this.height, this.height / this.most, theme.holes, 0.9);
    drawSteps(c, chart, this.at, this.used, this.y + this.height, this.height / this.most, theme.bank, 1);
  }
  hit(chart, x) {
    const i = bisect(this.at, chart.at(x), 0, this.at.length) - 1;
    if (i < 0) return null;
    return { title: this.memory, words: `${bytes(this.used[i])} in blocks, ${bytes(this.holes[i])} in holes at ${duration(this.at[i])}`,
      begin: this.at[i], end: this.at[i + 1] ?? this.at[i], y: this.y, height: this.height };
  }
}

// What the memories hold at the slider's time
function blocksAt(t) {
  const memory = data.memory, found = memory.lanes.map(() => []);
  for (let i = 0; i < memory.begin.length; i++)
    if (memory.begin[i] <= t && memory.end[i] > t) found[memory.lane[i]].push(i);
  return found;
}
function holesIn(blocks) {
  const memory = data.memory, sizes = [];
  let end = 0;
  for (const i of [...blocks].sort((a, b) => memory.offset[a] - memory.offset[b])) {
    if (memory.offset[i] > end) sizes.push(memory.offset[i] - end);
    end = memory.offset[i] + memory.size[i];
  }
  return sizes;
}
function describeAt(t) {
  const memory = data.memory, lines = [`at ${duration(t)}`];
  blocksAt(t).forEach((blocks, lane) => {
    const used = blocks.reduce((sum, i) => sum + memory.size[i], 0), holes = holesIn(blocks);
    lines.push(`${memory.lanes[lane].name}: ${blocks.length} block${blocks.length === 1 ? "" : "s"}, ${bytes(used)}; `
      + `${holes.length} hole${holes.length === 1 ? "" : "s"}${holes.length ? `, the largest ${bytes(Math.max(...holes))}` : ""}; `
      + `buffers ${blocks.slice(0, 12).map(i => memory.buffer[i]).join(", ") || "none"}${blocks.length > 12 ? ", ..." : ""}`);
  });
  return lines.join("\n");
}
function showMemoryAt(t) {
  for (const chart of charts.filter(chart => chart.view === views.real)) { chart.mark = t; chart.redraw(); }
  document.getElementById("says").textContent = describeAt(t);
}

// The page

const views = {}, charts = [];
for (const name of ["real", "simulated"]) {
  const found = data[name];
  if (!found) continue;
  const view = views[name] = new View(found);
  found.at = Float64Array.from(found.begin, at => view.of(at));
  found.wide = Float64Array.from(found.length, (length, i) => view.of(found.begin[i] + length) - found.at[i]);
  view.columns = found; view.lanes = found.lanes; view.name = name;
  charts.push(new Chart(name, views[name], found.lanes.map(lane => new SpanLane(lane, found)), found.arrows));
}
if (data.memory) {
  const banks = data.memory.lanes.map((lane, number) => new BankLane(number, lane));
  data.memory.lane.forEach((lane, i) => banks[lane].boxes.push(i));
  const most = Math.max(...data.memory.filling.map(f => f.used.reduce((m, used, i) => Math.max(m, used + f.holes[i]), 1)));
  charts.push(new Chart("memory-figure", views.real, [...banks, ...data.memory.filling.map(f => new FillingLane(f, most))]));
  const slider = document.getElementById("time");
  slider.addEventListener("input", () => showMemoryAt(+slider.value));
}
function press(buttons, pressed) { for (const b of buttons) b.setAttribute("aria-pressed", String(b === pressed)); }
const switches = [...document.querySelectorAll("[data-show]")];
for (const button of switches)
  button.addEventListener("click", () => {
    press(switches, button);
    for (const name of ["real", "simulated"])
      document.getElementById(`${name}-part`).hidden = ![name, "both"].includes(button.dataset.show);
    for (const chart of charts) chart.redraw();
  });
const DO = {
  in: view => view.zoom(0.6), out: view => view.zoom(1 / 0.6), all: view => view.show(0, view.end),
  setup: view => view.show(view.first, view.end),
};
for (const button of document.querySelectorAll("[data-do]"))
  button.addEventListener("click", () => { for (const view of Object.values(views)) DO[button.dataset.do](view); });
for (const button of document.querySelectorAll("[data-colour]"))
  button.addEventListener("click", () => {
    const number = +button.dataset.colour, shown = hidden.delete(number);
    if (!shown) hidden.add(number);
    button.setAttribute("aria-pressed", String(shown));
    for (const chart of charts) chart.redraw();
  });
const selectButton = document.getElementById("select");
selectButton.addEventListener("click", () => selectButton.setAttribute("aria-pressed", String(!selecting())));
const themeButton = document.getElementById("theme");
themeButton.addEventListener("click", () => {
  root.dataset.chosen = { auto: "dark", dark: "light", light: "auto" }[root.dataset.chosen ?? "auto"];
  themeButton.textContent = `colours: ${root.dataset.chosen}`;
  useTheme();
});
dark.addEventListener("change", useTheme);
new ResizeObserver(() => { for (const chart of charts) chart.redraw(); }).observe(document.body);

// On paper: light, as wide as A4, and as small as one page needs: the smaller, the more fits beside each other.
const PAPER_WIDTH = 718, PAPER_HEIGHT = 1035, STEPS = [1, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3];
let before = null;
function toPaper() {
  if (before) return;
  before = Object.values(views).map(view => [view, view.left, view.right]);
  root.classList.add("paper");
  layOut(STEPS.find(zoom => layOut(zoom) * zoom <= PAPER_HEIGHT) ?? STEPS.at(-1));
  const zoom = Math.min(PAPER_HEIGHT / document.body.scrollHeight, PAPER_WIDTH / document.body.offsetWidth);
  document.body.style.zoom = zoom;
}
function layOut(zoom) { // the height of the page, laid out for that zoom
  document.body.style.width = `${PAPER_WIDTH / zoom}px`;
  useTheme();
  return document.body.scrollHeight;
}
function toScreen() {
  if (!before) return;
  before = null;
  document.body.style.zoom = document.body.style.width = "";
  root.classList.remove("paper");
  useTheme();
}
addEventListener("beforeprint", toPaper);
addEventListener("afterprint", toScreen);

const report = window.report = { duration, sumsOf, linksOf: () => [], rangeChosen: () => {}, data, views, charts, blocksAt, toPaper, toScreen, ready: performance.now() };
useTheme();
if (data.memory) showMemoryAt(data.memory.fullest);
})();
