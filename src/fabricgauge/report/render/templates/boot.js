"use strict";
(() => {
  const block = document.getElementById("plots");
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  const data = JSON.parse(block.textContent);
  const shown = dark
    ? JSON.parse(JSON.stringify(data.plots), (_, value) =>
        typeof value === "string" && Object.hasOwn(data.dark, value) ? data.dark[value] : value)
    : data.plots;

  // Name the pair of a cell and its value: cells hold whole numbers, 0 if nothing was measured.
  const describe = (heat, shown, x, y) => {
    const side = heat.labels.length;
    const places = [Math.floor(y), Math.floor(x)];
    if (places.some((place) => !(place >= 0 && place < side))) return "\u00a0";
    const [row, column] = places.map((place) => Math.floor(place / shown.each));
    const named = (cell) => {
      const [first, last] = [cell * shown.each, Math.min((cell + 1) * shown.each, side) - 1];
      const group = heat.groups.find(([, end]) => first < end);
      const to = first < last ? ` to ${heat.labels[last]}` : "";
      return `${heat.labels[first]}${to}${group ? ` (${group[0]})` : ""}`;
    };
    const ends = `${named(row)} → ${named(column)}: `;
    const code = shown.codes[row * shown.side + column];
    if (code === 0) return `${ends}not measured`;
    const value = heat.best + (code - 1) * heat.step;
    const off = 100 * (value / heat.typical - 1);
    const digits = Math.min(6, Math.max(0, 3 - Math.floor(Math.log10(Math.abs(value) || 1))));
    const figure = value.toLocaleString("en", {
      minimumFractionDigits: digits, maximumFractionDigits: digits,
    });
    return `${ends}${heat.worst || shown.each > 1 ? "worst " : ""}${figure} ${heat.unit}`
      + ` (${off < 0 ? "−" : "+"}${Math.abs(off).toFixed(1)} % of the typical)`;
  };

  const unpacked = async (packed) => {
    const bytes = Uint8Array.from(atob(packed), (letter) => letter.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Uint16Array(await new Response(stream).arrayBuffer());
  };

  const showValues = (item, plotDocument) => {
    const heat = item.heat;
    const plot = plotDocument.roots()[0];
    const line = document.getElementById(`${item.target_id}-value`);
    const [whole, cells] = ["whole", "cells"].map((name) =>
      plot.renderers.find((renderer) => renderer.name === name));
    const block = whole.data_source.data.codes[0];
    let shown = { codes: block, side: block.shape[1], each: heat.each };
    const show = (_, event) => {
      line.textContent = describe(heat, shown, event.x, event.y);
    };
    plotDocument.on_event("mousemove", show);
    plotDocument.on_event("tap", show);
    if (!cells) return;
    // Each pair gets its own cell once the view holds no more pairs than the whole has blocks.
    const side = heat.labels.length;
    let close = false;
    const swap = () => {
      cells.visible = close && shown.each === 1;
      whole.visible = !cells.visible;
    };
    plotDocument.on_event("rangesupdate", (_, event) => {
      const spans = [event.x1 - event.x0, event.y1 - event.y0].map(Math.abs);
      close = Math.min(...spans) <= heat.whole;
      swap();
    });
    setTimeout(async () => {
      const codes = await unpacked(heat.cells);
      const image = new block.constructor(codes.buffer, [side, side]);
      cells.data_source.data = { codes: [image] };
      shown = { codes, side, each: 1 };
      swap();
    }, 500);
  };

  const draw = (item) => {
    Bokeh.embed.embed_item(item).then((views) => {
      if (item.heat) for (const view of views) showValues(item, view.model.document);
    }).catch((error) => {
      document.getElementById(item.target_id).textContent = `This plot could not be drawn: ${error}`;
    });
  };

  // Draw all of them in the order of the page: print, screenshots and PDFs do not scroll.
  for (const item of shown) draw(item);

  const open = () => {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (target instanceof HTMLDetailsElement) target.open = true;
  };
  addEventListener("hashchange", open);
  open();
})();
