// Draws the figures of a page so that they can be pointed at, zoomed and turned.  Each panel brings its description as
// JSON and a static drawing, which stays where a script cannot draw and on paper.  Colours come from the page's theme.
(() => {
  "use strict";
  const root = document.documentElement;
  if (!window.Plotly) return;
  const coarse = matchMedia("(pointer: coarse)").matches;
  const css = (name) => getComputedStyle(root).getPropertyValue("--" + name).trim();
  const clear = (hex, alpha) => {
    const [r, g, b] = [1, 3, 5].map((k) => parseInt(hex.slice(k, k + 2), 16));
    return `rgba(${r},${g},${b},${alpha})`;
  };
  const painted = (value) => {
    if (Array.isArray(value)) return value.map(painted);
    if (value === null || typeof value !== "object") return value;
    if ("$" in value) return "alpha" in value ? clear(css(value.$), value.alpha) : css(value.$);
    return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, painted(one)]));
  };
  const legendRows = (data, figure) => {
    const wide = data.filter((one) => one.showlegend).reduce((sum, one) => sum + 7 * one.name.length + 52, 0);
    return Math.ceil(wide / Math.max(figure.clientWidth - 40, 200));
  };
  const look = ({ layout: own, data }, figure) => {
    const ink = css("ink"), soft = css("soft"), line = css("line"), small = figure.clientWidth < 420;
    const layout = painted(own);
    for (const one of layout.shapes ?? []) one.layer = "above";
    const base = {
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", dragmode: coarse && !layout.scene ? false : undefined,
      font: { family: getComputedStyle(document.body).fontFamily, size: 12, color: ink },
      margin: { l: small ? 44 : 56, r: 12, t: 12, b: 44 },
      hoverlabel: { bgcolor: css("panel"), bordercolor: line, font: { color: ink }, align: "left" },
      legend: { orientation: "h", yref: "container", y: 0, yanchor: "bottom", x: 0 },
    };
    for (const key of ["xaxis", "yaxis"]) if (layout[key]) {
      layout[key] = { gridcolor: line, linecolor: line, zerolinecolor: soft, tickfont: { color: soft }, ...layout[key] };
      layout[key].title = { font: { color: soft, size: 12 }, standoff: 8, ...layout[key].title };
    }
    if (layout.scene) {
      base.margin = { l: 0, r: 0, t: 0, b: 0 };
      for (const key of ["xaxis", "yaxis", "zaxis"]) layout.scene[key] = { color: soft, ...layout.scene[key] };
    }
    if (layout.showlegend && !layout.scene) base.margin.b += 22 * legendRows(data, figure) + 6;
    return { ...base, ...layout };
  };
  const canTurn = (() => {
    try { return !!document.createElement("canvas").getContext("webgl2"); } catch { return false; }
  })();
  const panels = [...document.querySelectorAll(".panel")].flatMap((panel) => {
    const plot = panel.querySelector(".plot"), text = panel.querySelector("script[type='application/json']");
    if (!plot || !text) return [];
    const own = JSON.parse(text.textContent);
    return own.layout.scene && !canTurn ? [] : [{ panel, plot, own }];
  });
  const draw = async ({ panel, plot, own }) => {
    const width = panel.clientWidth;
    const legend = own.layout.showlegend && !own.layout.scene ? 22 * (legendRows(own.data, panel) - 1) : 0;
    const tall = legend + (own.layout.scene ? Math.min(0.72 * width, 560) : Math.max(own.ratio * width, Math.min(own.ratio * 400, 420)));
    plot.style.height = Math.round(Math.max(tall, 220)) + "px";
    panel.classList.add("drawn");
    const layout = look(own, panel);
    await Plotly.react(plot, painted(own.data), layout, { displayModeBar: false, responsive: true, displaylogo: false });
  };
  const drawAll = async () => {
    for (const one of panels) {
      try { await draw(one); } catch (problem) { one.panel.classList.remove("drawn"); console.error(problem); }
      await new Promise((next) => setTimeout(next));
    }
    root.dataset.drawn = panels.length;
  };
  // Arrow keys turn a picture in space.
  for (const { plot, own } of panels) if (own.layout.scene) {
    plot.tabIndex = 0;
    plot.addEventListener("keydown", (event) => {
      const by = { ArrowLeft: [-0.15, 0], ArrowRight: [0.15, 0], ArrowUp: [0, 0.15], ArrowDown: [0, -0.15] }[event.key];
      if (!by || !plot.layout) return;
      event.preventDefault();
      const { x, y, z } = plot.layout.scene.camera.eye, turn = Math.atan2(y, x) + by[0], flat = Math.hypot(x, y);
      const rise = Math.min(Math.max(Math.atan2(z, flat) + by[1], -1.5), 1.5), far = Math.hypot(flat, z);
      const eye = { x: far * Math.cos(rise) * Math.cos(turn), y: far * Math.cos(rise) * Math.sin(turn), z: far * Math.sin(rise) };
      Plotly.relayout(plot, { "scene.camera.eye": eye });
    });
  }
  for (const button of document.querySelectorAll("button.save")) {
    const figure = button.closest("figure"), own = panels.filter(({ plot }) => figure.contains(plot));
    button.hidden = !own.length;
    button.addEventListener("click", () => own.forEach(({ plot }, i) => {
      const filename = button.dataset.name + (own.length > 1 ? "-" + (i + 1) : "");
      const ground = { paper_bgcolor: css("paper"), plot_bgcolor: css("paper") };
      const shown = { data: plot.data, layout: { ...plot.layout, ...ground } };
      Plotly.downloadImage(shown, { format: "png", scale: 2, filename, width: plot.clientWidth, height: plot.clientHeight });
    }));
  }
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);
  drawAll();
})();
