"use strict";
(() => {
  const block = document.getElementById("plots");
  const data = JSON.parse(block.textContent);

  const create = (parent, name, attributes = {}, text) => {
    const element = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    if (text !== undefined) element.textContent = text;
    parent?.append(element);
    return element;
  };
  const html = (parent, name, className, text) => {
    const element = document.createElement(name);
    if (className) element.className = className;
    if (text !== undefined) element.textContent = text;
    parent?.append(element);
    return element;
  };
  const number = (value) => value.toLocaleString("en", { maximumFractionDigits: 6 });
  const count = (items) => Array.from({ length: items }, (_, place) => place);

  // Scales: places of an axis, and the marks along it.
  const linear = ([low, high], from, to) => {
    const each = (to - from) / (high - low);
    return Object.assign((value) => from + (value - low) * each,
      { back: (place) => low + (place - from) / each });
  };
  const logarithmic = ([low, high], from, to) => {
    const scale = linear([Math.log(low), Math.log(high)], from, to);
    return Object.assign((value) => scale(Math.log(value)),
      { back: (place) => Math.exp(scale.back(place)) });
  };
  const evenTicks = ([low, high], most) => {
    const rough = (high - low) / most;
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].find((each) => each * power >= rough) * power;
    const first = Math.ceil(low / step - 1e-9);
    return count(Math.max(0, Math.floor(high / step + 1e-9) - first + 1))
      .map((place) => Number(((first + place) * step).toPrecision(12)));
  };
  // Powers of the base, with 2 and 5 times a power of ten where there is room.
  const powerTicks = ([low, high], base, most) => {
    const within = (value) => value >= low * (1 - 1e-9) && value <= high * (1 + 1e-9);
    const first = Math.floor(Math.log(low) / Math.log(base));
    const last = Math.ceil(Math.log(high) / Math.log(base));
    const powers = count(last - first + 1).map((place) => Number((base ** (first + place)).toPrecision(12)));
    const each = base === 10 ? powers.flatMap((power) => [1, 2, 5].map((times) => times * power)) : powers;
    const fine = each.map((value) => Number(value.toPrecision(12))).filter(within);
    if (fine.length > 1 && fine.length <= most) return fine;
    const coarse = powers.filter(within);
    const step = Math.ceil(coarse.length / most);
    if (coarse.length > 1) return coarse.filter((_, place) => place % step === 0);
    return evenTicks([low, high], most).filter((value) => value > 0);
  };
  const minorTicks = ([low, high]) => {
    const first = Math.floor(Math.log10(low)), last = Math.ceil(Math.log10(high));
    if (last - first > 6) return [];
    return count(last - first).flatMap((place) =>
      [3, 4, 6, 7, 8, 9].map((times) => times * 10 ** (first + place)))
      .filter((value) => value > low && value < high);
  };

  const MARKERS = [
    "M-3.4 0a3.4 3.4 0 1 0 6.8 0a3.4 3.4 0 1 0 -6.8 0", "M-3-3h6v6h-6z", "M0-3.8L3.6 2.6H-3.6z",
    "M0-4.2L4.2 0L0 4.2L-4.2 0z", "M0 3.8L3.6-2.6H-3.6z", "M-3.6 0L-1.8-3.2H1.8L3.6 0L1.8 3.2H-1.8z",
  ];
  const COLOURS = 6;
  const marker = (place) => MARKERS[(place + Math.floor(place / COLOURS)) % MARKERS.length];

  // A frame holds axes, the view that a drag has chosen, a tooltip and the tools.
  class Frame {
    constructor(host, plot, height) {
      this.host = host;
      this.plot = plot;
      this.height = height;
      this.whole = { x: plot.x, y: plot.y };
      this.view = { ...this.whole };
      host.replaceChildren();
      this.tools = html(host, "div", "tools");
      this.svg = create(host, "svg", { class: "drawn", "aria-hidden": "true" });
      this.tip = html(host, "div", "tip");
      this.tip.hidden = true;
      this.reset = this.button("Whole plot", () => this.show({ ...this.whole }));
      this.reset.hidden = true;
      this.button("Save", () => this.save());
      this.listen();
    }

    button(text, act) {
      const button = html(this.tools, "button", "", text);
      button.type = "button";
      button.addEventListener("click", act);
      return button;
    }

    show(view) {
      this.view = view;
      this.reset.hidden = view.x === this.whole.x && view.y === this.whole.y;
      this.draw();
    }

    // Begin anew: an empty picture as wide as its place, its scales, and its clipped middle.
    begin(left, right, bottom) {
      const width = Math.max(280, this.host.clientWidth || 560);
      this.area = { left, right: width - right, top: 8, bottom: this.height - bottom };
      const { area, plot, view } = this;
      this.svg.replaceChildren();
      this.svg.setAttribute("viewBox", `0 0 ${width} ${this.height}`);
      this.x = linear(view.x, area.left, area.right);
      const y = plot.log ? logarithmic : linear;
      this.y = plot.down ? linear(view.y, area.top, area.bottom) : y(view.y, area.bottom, area.top);
      const clip = create(create(this.svg, "defs"), "clipPath", { id: `${this.host.id}-clip` });
      const size = {
        x: area.left, y: area.top, width: area.right - area.left, height: area.bottom - area.top,
      };
      create(clip, "rect", size);
      create(this.svg, "rect", { ...size, class: "paper" });
      this.grid = create(this.svg, "g");
      this.inside = create(this.svg, "g", { "clip-path": `url(#${this.host.id}-clip)` });
      this.axes = create(this.svg, "g");
    }

    axisLabels(xLabel, yLabel) {
      const { area, axes } = this;
      const middle = (area.top + area.bottom) / 2;
      create(axes, "text", { class: "label", x: (area.left + area.right) / 2, y: this.height - 8 }, xLabel);
      create(axes, "text", { class: "label", transform: `translate(13 ${middle}) rotate(-90)` }, yLabel);
    }

    xTick(at, text) {
      const place = this.x(at), { bottom, top } = this.area;
      create(this.grid, "path", { class: "grid", d: `M${place} ${top}V${bottom}` });
      create(this.axes, "path", { class: "axis", d: `M${place} ${bottom}v5` });
      create(this.axes, "text", { class: "tick", x: place, y: bottom + 19 }, text);
    }

    yTicks(ticks, minor = []) {
      const { left, right } = this.area;
      for (const value of ticks) {
        const place = this.y(value);
        create(this.grid, "path", { class: "grid", d: `M${left} ${place}H${right}` });
        create(this.axes, "path", { class: "axis", d: `M${left} ${place}h-5` });
        create(this.axes, "text", { class: "tick end", x: left - 8, y: place + 4 }, number(value));
      }
      for (const value of minor) {
        create(this.axes, "path", { class: "axis", d: `M${left} ${this.y(value)}h-3` });
      }
    }

    outline() {
      const { left, right, top, bottom } = this.area;
      create(this.axes, "path", { class: "axis", d: `M${left} ${top}V${bottom}H${right}` });
    }

    // The place of a pointer in the picture's own units: it may be shown smaller.
    place(event) {
      const box = this.svg.getBoundingClientRect();
      const each = this.svg.viewBox.baseVal.width / box.width;
      return { x: (event.clientX - box.x) * each, y: (event.clientY - box.y) * each };
    }

    listen() {
      const { svg } = this;
      let start = null;
      svg.addEventListener("pointerdown", (event) => {
        if (event.button === 0 && event.pointerType !== "touch") start = this.place(event);
      });
      svg.addEventListener("pointermove", (event) => {
        const at = this.place(event);
        this.band?.remove();
        if (start && Math.hypot(at.x - start.x, at.y - start.y) > 6) {
          svg.setPointerCapture(event.pointerId);
          const { x, y, width, height } = this.chosen(start, at);
          this.band = create(svg, "rect", { class: "band", x, y, width, height });
          this.tip.hidden = true;
        } else {
          this.point(at);
        }
      });
      svg.addEventListener("pointerup", (event) => {
        const from = start, at = this.place(event);
        start = null;
        this.band?.remove();
        if (!from || Math.hypot(at.x - from.x, at.y - from.y) <= 6) return;
        const { x, y, width, height } = this.chosen(from, at);
        if (width < 8 || height < 8) return;
        const ends = [this.y.back(y), this.y.back(y + height)].sort((a, b) => a - b);
        this.show({ x: [this.x.back(x), this.x.back(x + width)], y: ends });
      });
      svg.addEventListener("pointerleave", () => {
        this.tip.hidden = true;
        this.point(null);
      });
      svg.addEventListener("dblclick", () => this.show({ ...this.whole }));
    }

    chosen(a, b) {
      const { left, right, top, bottom } = this.area;
      const within = (value, low, high) => Math.min(Math.max(value, low), high);
      const [x0, x1] = [a.x, b.x].map((x) => within(x, left, right)).sort((p, q) => p - q);
      const [y0, y1] = [a.y, b.y].map((y) => within(y, top, bottom)).sort((p, q) => p - q);
      return { x: x0, y: y0, width: x1 - x0, height: y1 - y0 };
    }

    // Show rows of label and text beside a place.
    say(rows, at) {
      this.tip.replaceChildren();
      for (const [label, text] of rows.filter(([, each]) => each)) {
        const row = html(this.tip, "div");
        if (label) html(row, "span", "", `${label} `);
        row.append(text);
      }
      this.tip.hidden = false;
      const box = this.svg.getBoundingClientRect(), host = this.host.getBoundingClientRect();
      const each = box.width / this.svg.viewBox.baseVal.width;
      const x = at.x * each, leftward = x > box.width / 2;
      this.tip.style.left = `${x + (leftward ? -this.tip.offsetWidth - 14 : 14)}px`;
      this.tip.style.top = `${Math.max(0, at.y * each + box.y - host.y - this.tip.offsetHeight / 2)}px`;
    }

    // Save the picture with the colours that it has now.
    save() {
      const copy = this.svg.cloneNode(true);
      const from = this.svg.querySelectorAll("*"), to = copy.querySelectorAll("*");
      from.forEach((element, place) => {
        const style = getComputedStyle(element);
        for (const name of ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-dasharray", "font", "text-anchor"]) {
          to[place].style.setProperty(name, style.getPropertyValue(name));
        }
      });
      copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
      const file = new Blob([copy.outerHTML], { type: "image/svg+xml" });
      const link = html(null, "a");
      link.href = URL.createObjectURL(file);
      link.download = `${this.host.getAttribute("aria-label").replace(/[^\w.-]+/g, "-")}.svg`;
      link.click();
      URL.revokeObjectURL(link.href);
    }
  }

  class Curves extends Frame {
    constructor(host, plot) {
      super(host, plot, 400);
      this.hidden = new Set();
      this.draw();
      this.legend();
    }

    draw() {
      const { plot, view } = this;
      const ticks = plot.log ? powerTicks(view.y, plot.base, 8) : evenTicks(view.y, 7);
      const letters = Math.max(...ticks.map((value) => number(value).length), 1);
      this.begin(34 + 7 * letters, plot.full ? 56 : 14, 46);
      this.sizes();
      this.yTicks(ticks, plot.log && plot.base === 10 ? minorTicks(view.y) : []);
      if (plot.full) this.shares(plot.full);
      this.axisLabels(plot.x_label, plot.y_label);
      this.outline();
      const [left, right] = [this.area.left, this.area.right];
      if (plot.band) {
        const [low, high] = plot.band.map(this.y);
        create(this.inside, "rect", {
          class: "limits", x: left, y: Math.min(low, high), width: right - left,
          height: Math.abs(low - high),
        });
      }
      plot.series.forEach((series, place) => this.hidden.has(series) || this.series(series, place));
      for (const line of plot.lines) if (!this.hidden.has(line)) this.line(line);
    }

    sizes() {
      const { plot, view } = this;
      const within = plot.ticks.filter(([at]) => at >= view.x[0] && at <= view.x[1]);
      const step = plot.words ? 1 : within.length > 9 ? 4 : within.length > 5 ? 2 : 1;
      for (const [at, text] of within) {
        if (step === 1 || at < 0 || at % step === 0) this.xTick(at, text);
        else create(this.axes, "path", { class: "axis", d: `M${this.x(at)} ${this.area.bottom}v3` });
      }
    }

    shares(full) {
      const { right, bottom, top } = this.area;
      const range = this.view.y.map((value) => (100 * value) / full);
      for (const share of evenTicks(range, 7)) {
        const place = this.y((share * full) / 100);
        create(this.axes, "path", { class: "axis", d: `M${right} ${place}h5` });
        create(this.axes, "text", { class: "tick start", x: right + 8, y: place + 4 }, number(share));
      }
      create(this.axes, "path", { class: "axis", d: `M${right} ${top}V${bottom}` });
      const middle = (top + bottom) / 2;
      create(this.axes, "text", { class: "label", transform: `translate(${right + 50} ${middle}) rotate(-90)` }, "% of the ceiling");
    }

    path(xs, ys) {
      return xs.map((x, place) => `${place ? "L" : "M"}${this.x(x).toFixed(1)} ${this.y(ys[place]).toFixed(1)}`).join("");
    }

    line(line) {
      const kind = `${line.ceiling ? "ceiling" : "floor"}${new Set(line.y).size > 1 ? " dotted" : ""}`;
      create(this.inside, "path", { class: `line ${kind}`, d: this.path(line.x, line.y) });
    }

    series(series, place) {
      const group = create(this.inside, "g", { class: `s${place % COLOURS}` });
      const { x, y, low, high } = series;
      if (series.tail) {
        const back = [...x].reverse(), down = [...y].reverse();
        create(group, "path", { class: "tail", d: `${this.path(x, series.tail)}${this.path(back, down).replace("M", "L")}z` });
      }
      if (this.plot.joined) create(group, "path", { class: "curve", d: this.path(x, y) });
      const whiskers = x.map((each, at) => {
        const middle = this.x(each), [bottom, top] = [this.y(low[at]), this.y(high[at])];
        return `M${middle} ${bottom}V${top}M${middle - 3.5} ${bottom}h7M${middle - 3.5} ${top}h7`;
      });
      create(group, "path", { class: "whisker", d: whiskers.join("") });
      x.forEach((each, at) => create(group, "path", {
        class: series.fill?.[at] === 0 ? "mark hollow" : "mark", d: marker(place),
        transform: `translate(${this.x(each).toFixed(1)} ${this.y(y[at]).toFixed(1)})`,
      }));
    }

    point(at) {
      this.ring?.remove();
      if (!at) return;
      let nearest = null, least = 28;
      for (const series of this.plot.series) {
        if (this.hidden.has(series)) continue;
        series.x.forEach((x, place) => {
          const away = Math.hypot(this.x(x) - at.x, this.y(series.y[place]) - at.y);
          if (away < least) [nearest, least] = [{ series, place }, away];
        });
      }
      this.tip.hidden = !nearest;
      if (!nearest) return;
      const { series, place } = nearest;
      const middle = { x: this.x(series.x[place]), y: this.y(series.y[place]) };
      this.ring = create(this.inside, "circle", { class: "ring", cx: middle.x, cy: middle.y, r: 7 });
      const [where, median, interval, also, samples] = series.said[place];
      this.say([
        ["", series.label], [this.plot.x_label, where], ["median", median], ["interval", interval],
        ["", also], ["samples", samples],
      ], middle);
    }

    // A click on a name hides its curve.
    legend() {
      const list = html(this.host, "div", "legend");
      const add = (item, draw) => {
        const button = html(list, "button");
        button.type = "button";
        button.setAttribute("aria-pressed", "true");
        draw(create(button, "svg", { viewBox: "0 0 26 12", width: 26, height: 12, "aria-hidden": "true" }));
        button.append(item.label);
        button.addEventListener("click", () => {
          if (!this.hidden.delete(item)) this.hidden.add(item);
          button.setAttribute("aria-pressed", String(!this.hidden.has(item)));
          this.draw();
        });
      };
      this.plot.series.forEach((series, place) => add(series, (svg) => {
        const group = create(svg, "g", { class: `s${place % COLOURS}` });
        if (this.plot.joined) create(group, "path", { class: "curve", d: "M1 6H25" });
        create(group, "path", { class: "mark", d: marker(place), transform: "translate(13 6)" });
      }));
      for (const line of this.plot.lines) {
        const kind = `${line.ceiling ? "ceiling" : "floor"}${new Set(line.y).size > 1 ? " dotted" : ""}`;
        add(line, (svg) => create(svg, "path", { class: `line ${kind}`, d: "M1 6H25" }));
      }
    }
  }

  class Spectrum extends Frame {
    constructor(host, plot) {
      super(host, { ...plot, log: true }, 300);
      this.draw();
    }

    draw() {
      const { plot, view } = this;
      const letters = Math.max(...plot.ticks.map((value) => number(value).length));
      this.begin(34 + 7 * letters, 14, 46);
      for (const value of evenTicks(view.x, 7)) this.xTick(value, number(value));
      const within = plot.ticks.filter((value) => value >= view.y[0] && value <= view.y[1]);
      const decades = within.filter((value) => Number.isInteger(Math.log10(value)));
      this.yTicks(within.length > 9 ? decades : within);
      this.axisLabels(plot.x_label, plot.y_label);
      const bottom = this.area.bottom;
      plot.bars.forEach(([left, right, bar]) => {
        const [from, to] = [this.x(left), this.x(right)], top = this.y(bar);
        create(this.inside, "rect", {
          class: "count", x: from, y: top, width: Math.max(to - from, 0.8), height: Math.max(bottom - top, 0),
        });
      });
      for (const peak of plot.peaks) {
        create(this.inside, "path", { class: "line ceiling", d: `M${this.x(peak)} ${this.area.top}V${bottom}` });
      }
      this.outline();
    }

    point(at) {
      if (!at) return;
      const value = this.x.back(at.x);
      const place = this.plot.bars.findIndex(([left, right]) => left <= value && value <= right);
      this.tip.hidden = place < 0;
      if (place < 0) return;
      const [left, right, bar] = this.plot.bars[place];
      const middle = { x: (this.x(left) + this.x(right)) / 2, y: this.y(bar) };
      this.say([["", this.plot.said[place]], ["directed pairs", number(bar)]], middle);
    }
  }

  // A matrix: cells hold whole numbers, 0 if nothing was measured, and more the worse a pair is.
  class HeatMap extends Frame {
    constructor(host, plot, codes) {
      const side = plot.labels.length, edge = plot.named.length ? 0.03 * side : 0;
      super(host, { ...plot, x: [-edge, side], y: [-edge, side], down: true }, 640);
      this.side = side;
      this.codes = codes;
      this.line = document.getElementById(`${host.id}-value`);
      this.blocks = new Map([[1, { codes, side, each: 1 }]]);
      this.draw();
    }

    // Each pair has its own cell once the view holds few enough of them, else the worst of a block.
    shown() {
      const span = Math.max(this.view.x[1] - this.view.x[0], this.view.y[1] - this.view.y[0]);
      const each = Math.max(1, Math.ceil(Math.min(span, this.side) / this.plot.whole));
      if (!this.blocks.has(each)) {
        const side = Math.ceil(this.side / each), codes = new Uint16Array(side * side);
        for (let row = 0; row < this.side; row++) {
          const to = Math.floor(row / each) * side, from = row * this.side;
          for (let column = 0; column < this.side; column++) {
            const place = to + Math.floor(column / each), code = this.codes[from + column];
            if (code > codes[place]) codes[place] = code;
          }
        }
        this.blocks.set(each, { codes, side, each });
      }
      return this.blocks.get(each);
    }

    palette() {
      return this.plot.is_calm ? data.calm : data.heat;
    }

    colour(code) {
      const { low, high } = this.plot.colours, palette = this.palette();
      const share = (code - low) / (high - low);
      return palette[Math.min(palette.length - 1, Math.max(0, Math.floor(share * palette.length)))];
    }

    image() {
      const { codes, side, each } = this.shown();
      const [first, last] = [
        [this.view.x[0], this.view.y[0]].map((value) => Math.max(0, Math.floor(value / each))),
        [this.view.x[1], this.view.y[1]].map((value) => Math.min(side, Math.ceil(value / each))),
      ];
      const width = last[0] - first[0], height = last[1] - first[1];
      if (width < 1 || height < 1) return;
      const canvas = html(null, "canvas");
      Object.assign(canvas, { width, height });
      const context = canvas.getContext("2d"), pixels = context.createImageData(width, height);
      const words = new Uint32Array(pixels.data.buffer), known = new Map();
      for (let row = 0; row < height; row++) {
        for (let column = 0; column < width; column++) {
          const code = codes[(first[1] + row) * side + first[0] + column];
          let word = known.get(code);
          if (word === undefined) {
            const text = code ? this.colour(code) : data.unmeasured;
            const [red, green, blue] = [1, 3, 5].map((at) => parseInt(text.slice(at, at + 2), 16));
            word = (255 << 24) | (blue << 16) | (green << 8) | red;
            known.set(code, word);
          }
          words[row * width + column] = word;
        }
      }
      context.putImageData(pixels, 0, 0);
      const [x0, x1] = [first[0], last[0]].map((cell) => this.x(cell * each));
      const [y0, y1] = [first[1], last[1]].map((cell) => this.y(cell * each));
      create(this.inside, "image", {
        class: "cells", href: canvas.toDataURL(), x: x0, y: y0, width: x1 - x0, height: y1 - y0,
        preserveAspectRatio: "none",
      });
    }

    draw() {
      const { plot, view, side } = this;
      const longest = Math.max(...plot.names.map(([, text]) => text.length), 1);
      this.begin(34 + 6.6 * longest, 86, 34 + 5.6 * longest);
      this.image();
      const { left, right, top, bottom } = this.area;
      const [near, far] = [this.x(0), this.x(side)], [high, low] = [this.y(0), this.y(side)];
      for (const end of plot.ends) {
        const d = `M${this.x(end)} ${high}V${low}M${near} ${this.y(end)}H${far}`;
        create(this.inside, "path", { class: "axis", d });
      }
      for (const cell of plot.named) {
        const [x, y] = [this.x(cell + 0.5), this.y(cell + 0.5)];
        create(this.inside, "path", { class: "named", d: `M${x - 6} ${high - 11}h12l-6 10z` });
        create(this.inside, "path", { class: "named", d: `M${near - 11} ${y - 6}v12l10-6z` });
      }
      const spaced = (places, least) => {
        let last = -Infinity;
        return places.filter(([place]) => place - last >= least && (last = place, true));
      };
      const within = (range) => plot.names.filter(([at]) => at >= range[0] && at <= range[1]);
      for (const [place, text] of spaced(within(view.x).map(([at, name]) => [this.x(at), name]), 12)) {
        create(this.axes, "text", { class: "tick end", transform: `translate(${place + 4} ${bottom + 12}) rotate(-57)` }, text);
      }
      for (const [place, text] of spaced(within(view.y).map(([at, name]) => [this.y(at), name]), 12)) {
        create(this.axes, "text", { class: "tick end", x: left - 8, y: place + 4 }, text);
      }
      this.axisLabels("receives", "sends");
      this.bar(right + 14, top, bottom);
    }

    // The scale of the colours, with values.
    bar(left, top, bottom) {
      const range = [this.plot.good, this.plot.bad].sort((a, b) => a - b);
      const rising = this.plot.step > 0, palette = this.palette();
      const each = (bottom - top) / palette.length;
      palette.forEach((colour, place) => {
        const from = rising ? bottom - (place + 1) * each : top + place * each;
        create(this.axes, "rect", { x: left, y: from, width: 12, height: each + 0.5, style: `fill:${colour}` });
      });
      const scale = linear(range, bottom, top);
      for (const value of evenTicks(range, 6)) {
        create(this.axes, "text", { class: "tick start", x: left + 17, y: scale(value) + 4 }, number(value));
      }
    }

    point(at) {
      this.line.textContent = at ? this.describe(this.x.back(at.x), this.y.back(at.y)) : "\u00a0";
    }

    // Name the pair of a cell and its value.
    describe(x, y) {
      const { plot, side } = this, shown = this.shown();
      const places = [Math.floor(y), Math.floor(x)];
      if (places.some((place) => !(place >= 0 && place < side))) return "\u00a0";
      const [row, column] = places.map((place) => Math.floor(place / shown.each));
      const named = (cell) => {
        const [first, last] = [cell * shown.each, Math.min((cell + 1) * shown.each, side) - 1];
        const group = plot.groups.find(([, end]) => first < end);
        const to = first < last ? ` to ${plot.labels[last]}` : "";
        return `${plot.labels[first]}${to}${group ? ` (${group[0]})` : ""}`;
      };
      const ends = `${named(row)} → ${named(column)}: `;
      const code = shown.codes[row * shown.side + column];
      if (code === 0) return `${ends}not measured`;
      const value = plot.best + (code - 1) * plot.step;
      const off = 100 * (value / plot.typical - 1);
      const digits = Math.min(6, Math.max(0, 3 - Math.floor(Math.log10(Math.abs(value) || 1))));
      const figure = value.toLocaleString("en", {
        minimumFractionDigits: digits, maximumFractionDigits: digits,
      });
      return `${ends}${plot.worst || shown.each > 1 ? "worst " : ""}${figure} ${plot.unit}`
        + ` (${off < 0 ? "−" : "+"}${Math.abs(off).toFixed(1)} % of the typical)`;
    }
  }

  // Cells come as gzip: all low bytes, then all high bytes; of a symmetric matrix the upper half.
  const unpack = async (plot) => {
    const bytes = Uint8Array.from(atob(plot.cells), (letter) => letter.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    const planes = new Uint8Array(await new Response(stream).arrayBuffer());
    const side = plot.labels.length, half = planes.length / 2;
    const codes = new Uint16Array(side * side);
    let next = 0;
    for (let row = 0; row < side; row++) {
      for (let column = plot.mirrored ? row : 0; column < side; column++, next++) {
        const code = planes[next] | (planes[half + next] << 8);
        codes[row * side + column] = code;
        if (plot.mirrored) codes[column * side + row] = code;
      }
    }
    return codes;
  };

  const KINDS = { curves: Curves, spectrum: Spectrum };
  const frames = [];
  const draw = async (plot) => {
    const host = document.getElementById(plot.target);
    try {
      frames.push(plot.kind === "heat"
        ? new HeatMap(host, plot, await unpack(plot)) : new KINDS[plot.kind](host, plot));
    } catch (error) {
      host.textContent = `This plot could not be drawn: ${error}`;
    }
  };
  // Draw all of them in the order of the page: print, screenshots and PDFs do not scroll.
  const done = Promise.all(data.plots.map(draw));
  done.then(() => { document.documentElement.dataset.drawn = data.plots.length; });

  // A plot in a fold has no width before the fold opens; a window may change its size.
  let width = innerWidth;
  addEventListener("resize", () => {
    if (width === innerWidth) return;
    width = innerWidth;
    for (const frame of frames) frame.draw();
  });
  document.addEventListener("toggle", (event) => {
    for (const frame of frames) if (event.target.contains(frame.host)) frame.draw();
  }, true);

  const open = () => {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (target instanceof HTMLDetailsElement) target.open = true;
  };
  addEventListener("hashchange", open);
  open();
})();
