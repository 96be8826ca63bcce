"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const SVG = "http://www.w3.org/2000/svg";
  const make = (parent, name, attributes, text) => {
    const element = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    if (text !== undefined) element.textContent = text;
    parent.append(element);
    return element;
  };

  // A series over time: levels, changes, and a point for each run that leads to its report.
  const left = 96, right = 1088, top = 12, bottom = 208;
  const draw = (svg, series) => {
    const [t0, t1] = series.times, [y0, y1] = series.span;
    const x = (time) => left + (right - left) * (t1 > t0 ? (time - t0) / (t1 - t0) : 0.5);
    const y = (value) => bottom - (bottom - top) * (value - y0) / (y1 - y0);
    for (const [value, label] of series.y_ticks) {
      make(svg, "line", { class: "axis", x1: left, x2: right, y1: y(value), y2: y(value) });
      make(svg, "text", { x: left - 8, y: y(value) + 4, "text-anchor": "end" }, label);
    }
    series.x_ticks.forEach(([time, label], place) => {
      const last = place > 0 && place === series.x_ticks.length - 1;
      const anchor = last ? "end" : place > 0 ? "middle" : "start";
      make(svg, "text", { x: x(time), y: bottom + 22, "text-anchor": anchor }, label);
    });
    for (const [from, to, value] of series.levels)
      make(svg, "line", { class: "level", x1: x(from), x2: x(to), y1: y(value), y2: y(value) });
    for (const [time, words] of series.changes) {
      const line = make(svg, "line", { class: "change", x1: x(time), x2: x(time), y1: top, y2: bottom });
      make(line, "title", {}, words);
    }
    series.points.forEach(([run, value, half, words]) => {
      const [name, started, day, outcome, href] = data.runs[run];
      const point = make(svg, href ? "a" : "g", href ? { href, class: outcome } : { class: outcome });
      if (half > 0)
        make(point, "line", { class: "whisker", x1: x(started), x2: x(started),
          y1: y(Math.max(y0, value * (1 - half))), y2: y(Math.min(y1, value * (1 + half))) });
      make(make(point, "circle", { cx: x(started), cy: y(value), r: 3 }), "title", {},
        `${day}  ${name}\n${words}  ${outcome}`);
    });
  };
  for (const svg of document.querySelectorAll("svg.timeline")) draw(svg, data.series[svg.dataset.series]);

  // The heat map: a row for each node, a column for each stretch of time, 0 where nothing is known.
  const paint = (holder, heat) => {
    const cells = Uint8Array.from(atob(heat.cells), (letter) => letter.charCodeAt(0));
    const [canvas, at] = [holder.querySelector("canvas"), holder.querySelector(".at")];
    const rows = heat.nodes.length, columns = heat.columns.length;
    const height = Math.max(2, Math.min(16, Math.floor(900 / rows)));
    canvas.width = columns;
    canvas.height = rows;
    canvas.style.height = `${rows * height}px`;
    const context = canvas.getContext("2d"), image = context.createImageData(columns, rows);
    cells.forEach((code, place) => image.data.set([...data.colours[code], 255], 4 * place));
    context.putImageData(image, 0, 0);
    // Names of rows: all that fit; slow ones come first.
    const names = holder.querySelector(".names"), apart = Math.ceil(14 / height), shown = [];
    const worst = heat.nodes.map((_, row) => Math.max(...cells.subarray(row * columns, (row + 1) * columns)));
    const isSlow = (row) => worst[row] > data.colours.length / 2 || heat.alarmed.includes(row);
    const all = heat.nodes.map((_, row) => row);
    const slow = all.filter(isSlow).sort((first, second) => worst[second] - worst[first]);
    for (const row of [...slow, ...all.filter((row) => row % apart === 0), ...all]) {
      if (shown.some((other) => Math.abs(other - row) < apart)) continue;
      shown.push(row);
      const link = document.createElement("a");
      [link.href, link.title, link.textContent] = [heat.hrefs[row], heat.nodes[row], heat.nodes[row]];
      link.className = isSlow(row) ? "slow" : "";
      link.style.top = `${(row + 0.5) * height + 1}px`;
      names.append(link);
    }
    names.style.width = `${Math.min(24, Math.max(...heat.nodes.map((name) => name.length)) + 1)}ch`;
    const days = heat.columns.filter((day) => day);
    for (const day of [...new Set([days[0], days[days.length >> 1], days[days.length - 1]])]) {
      const label = document.createElement("span");
      label.textContent = day;
      holder.querySelector(".days").append(label);
    }
    const cell = (event) => {
      const box = canvas.getBoundingClientRect();
      const column = Math.floor((event.clientX - box.left) / box.width * columns);
      const row = Math.floor((event.clientY - box.top) / box.height * rows);
      return column >= 0 && column < columns && row >= 0 && row < rows ? [row, column] : null;
    };
    canvas.addEventListener("pointermove", (event) => {
      const place = cell(event);
      if (!place) return;
      const code = cells[place[0] * columns + place[1]];
      const last = data.colours.length - 2;
      const share = code ? heat.good + (heat.bad - heat.good) * (code - 1) / last : 0;
      const words = code ? `${(100 * share).toFixed(1)} % of the usual` : "not measured";
      at.textContent = `${heat.nodes[place[0]]}, ${heat.columns[place[1]]}: ${words}`;
    });
    canvas.addEventListener("click", (event) => {
      const place = cell(event);
      if (place) location.href = heat.hrefs[place[0]];
    });
  };
  document.querySelectorAll(".heatmap").forEach((holder) => paint(holder, data.heats[holder.dataset.heat]));
  for (const ramp of document.querySelectorAll("canvas.ramp")) {
    const context = ramp.getContext("2d"), count = data.colours.length - 1;
    for (let step = 0; step < count; step += 1) {
      context.fillStyle = `rgb(${data.colours[step + 1].join(",")})`;
      context.fillRect(ramp.width * step / count, 0, ramp.width / count + 1, ramp.height);
    }
  }

  const filter = document.getElementById("filter");
  if (filter) filter.addEventListener("input", () => {
    for (const row of document.querySelectorAll("#node-table tbody tr"))
      row.hidden = !row.textContent.toLowerCase().includes(filter.value.toLowerCase());
  });
})();
