"use strict";
(() => {
  const block = document.getElementById("plots");
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  const data = JSON.parse(block.textContent);
  const shown = dark
    ? JSON.parse(JSON.stringify(data.plots), (_, value) =>
        typeof value === "string" && Object.hasOwn(data.dark, value) ? data.dark[value] : value)
    : data.plots;
  for (const item of shown) {
    Bokeh.embed.embed_item(item).catch((error) => {
      document.getElementById(item.target_id).textContent = `This plot could not be drawn: ${error}`;
    });
  }
  const open = () => {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (target instanceof HTMLDetailsElement) target.open = true;
  };
  addEventListener("hashchange", open);
  addEventListener("beforeprint", () => {
    for (const part of document.querySelectorAll("details")) part.open = true;
  });
  open();
})();
