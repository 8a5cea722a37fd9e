// Draws charts with uPlot from the JSON beside each one (web/site/plots.py). The page already has their tables.
"use strict";

// Resolves colours of the style sheet, because a canvas supports no custom properties.
const probe = document.createElement("span");
probe.hidden = true;
document.body.append(probe);
const colours = new Map();
function colour(name) {
  if (!colours.has(name)) {
    probe.style.color = `var(${name})`;
    colours.set(name, getComputedStyle(probe).color);
  }
  return colours.get(name);
}
function faint(name, share) {
  return colour(name).replace(/^rgba?\(([^,]+),([^,]+),([^,)]+).*$/, `rgba($1,$2,$3,${share})`);
}

const FONT = `13px ${getComputedStyle(document.body).fontFamily}`;
const moments = [
  // The format to use from this many seconds between two labels.
  [28 * 86400, { month: "short", year: "numeric" }], [86400, { day: "numeric", month: "short" }],
  [0, { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" }],
].map(([from, parts]) => [from, new Intl.DateTimeFormat("en-GB", { ...parts, timeZone: "UTC" })]);
const minute = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "short", timeZone: "UTC" });
const plain = new Intl.NumberFormat("en-GB", { maximumSignificantDigits: 5 });
const brief = new Intl.NumberFormat("en-GB", { notation: "compact", maximumSignificantDigits: 4 });
const tiny = new Intl.NumberFormat("en-GB", { notation: "scientific", maximumSignificantDigits: 3 });
const percent = new Intl.NumberFormat("en-GB", { style: "percent", maximumFractionDigits: 1 });
function written(kind, value) {
  if (value === null || value === undefined) return "–";
  if (kind === "time") return `${minute.format(value * 1000)} UTC`;
  return (kind === "share" ? percent : plain).format(value).replace("-", "−");
}
// An axis has room for a few characters only.
function ticked(kind, value) {
  const size = Math.abs(value);
  if (kind === "share" || !size || (size >= 1e-4 && size < 1e5)) return written(kind, value);
  return (size < 1 ? tiny : brief).format(value).replaceAll("-", "−");
}
const WHOLE = Array.from({ length: 16 }, (_, power) => [1, 2, 5].map((step) => step * 10 ** power)).flat();

// Returns the width of an axis from its labels. Later rounds keep the width, or the layout could loop forever.
function wide(u, labels, number, round) {
  const { ticks, gap, _size, font } = u.axes[number];
  if (round > 1) return _size;
  u.ctx.save();
  u.ctx.font = font[0];
  const most = Math.max(0, ...(labels ?? []).map((label) => u.ctx.measureText(label).width));
  u.ctx.restore();
  return Math.ceil(ticks.size + gap + most / devicePixelRatio) + 6;
}

function axis(told, side) {
  const made = {
    stroke: () => colour("--muted"), font: FONT, labelFont: FONT, label: told.title || null, labelSize: told.title ? 22 : 0, size: side === 3 ? wide : 34,
    grid: { stroke: () => colour("--edge"), width: 1, show: side === 3 }, ticks: { stroke: () => colour("--edge-strong"), size: 5, width: 1 },
  };
  if (told.kind === "whole") made.incrs = WHOLE;
  if (told.kind !== "time") made.values = (_, splits) => splits.map((value) => ticked(told.kind, value));
  else {
    made.space = 120;
    made.values = (_, splits, axis, space, step) => {
      const labels = splits.map((value) => moments.find(([from]) => step >= from)[1].format(value * 1000));
      // Repeated labels within a minute or a day are left out.
      return labels.map((label, index) => (label === labels[index - 1] ? "" : label));
    };
  }
  return made;
}

// A single value needs a scale too; values that differ only by rounding count as a single value.
function range(told, marks) {
  return (_, least, most) => {
    if (told.low !== null && told.high !== null) return [told.low, told.high];
    const low = Math.min(least ?? Infinity, ...marks);
    const high = Math.max(most ?? -Infinity, ...marks);
    if (low > high) return [told.low ?? 0, told.high ?? 1];
    const size = Math.max(Math.abs(low), Math.abs(high));
    const room = (high - low > 1e-12 * size ? high - low : told.kind === "time" ? 86400 : size || 1) * 0.06;
    return [told.low ?? low - room, told.high ?? high + room];
  };
}

// Draws what uPlot has no series for. paint gets the canvas, functions that place values, and the device's pixel ratio.
function within(paint) {
  return (u) => {
    const { ctx, bbox } = u;
    ctx.save();
    ctx.beginPath();
    ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
    ctx.clip();
    paint(ctx, (value) => u.valToPos(value, "x", true), (value) => u.valToPos(value, "y", true), devicePixelRatio, u);
    ctx.restore();
  };
}

function stroke(ctx, fromX, fromY, toX, toY) {
  ctx.beginPath();
  ctx.moveTo(fromX, fromY);
  ctx.lineTo(toX, toY);
  ctx.stroke();
}

function underneath(plot) {
  return within((ctx, x, y, pixel, { scales }) => {
    if (plot.diagonal) {
      const ends = [Math.max(scales.x.min, scales.y.min), Math.min(scales.x.max, scales.y.max)];
      ctx.lineWidth = 1.5 * pixel;
      ctx.strokeStyle = colour("--muted");
      ctx.setLineDash([6 * pixel, 5 * pixel]);
      stroke(ctx, x(ends[0]), y(ends[0]), x(ends[1]), y(ends[1]));
      ctx.setLineDash([]);
    }
    ctx.lineWidth = 3 * pixel;
    ctx.lineCap = "round";
    for (const span of plot.spans.filter((one) => one.look === "bars")) {
      ctx.strokeStyle = faint(span.colour, 0.45);
      plot.xs.forEach((place, index) => {
        if (span.low[index] !== null) stroke(ctx, x(place), y(span.low[index]), x(place), y(span.high[index]));
      });
    }
  });
}

function above(plot) {
  return within((ctx, x, y, pixel, { bbox: { left, top, width, height } }) => {
    const label = (words, across, down) => {
      ctx.strokeText(words, across, down);
      ctx.fillText(words, across, down);
    };
    for (const band of plot.marks.filter((one) => one.to !== null)) {
      ctx.fillStyle = faint(band.colour, 0.18);
      if (band.axis === "x") ctx.fillRect(x(band.at), top, x(band.to) - x(band.at), height);
      else ctx.fillRect(left, y(band.to), width, y(band.at) - y(band.to));
    }
    ctx.font = FONT.replace("13", String(12 * pixel));
    ctx.textAlign = "left";
    ctx.textBaseline = "alphabetic";
    ctx.fillStyle = colour("--muted");
    ctx.lineJoin = "round";
    let free = -Infinity;
    for (const mark of plot.marks.filter((one) => one.to === null)) {
      const at = Math.round(mark.axis === "x" ? x(mark.at) : y(mark.at));
      ctx.strokeStyle = colour(mark.colour);
      ctx.lineWidth = (mark.is_key ? 2 : 1.5) * pixel;
      ctx.setLineDash(mark.dash.map((length) => length * pixel));
      if (mark.axis === "x") stroke(ctx, at, top, at, top + height);
      else stroke(ctx, left, at, left + width, at);
      if (mark.is_key || !mark.label) continue;
      // An outline keeps the letters readable over other lines.
      ctx.strokeStyle = colour("--surface");
      ctx.lineWidth = 3 * pixel;
      ctx.setLineDash([]);
      const wide = ctx.measureText(mark.label).width + 10 * pixel;
      if (mark.axis === "y") label(mark.label, left + width - wide + 5 * pixel, at + (at < top + height / 2 ? 15 : -6) * pixel);
      else {
        // Labels that would overlap, or lie outside the chart, are only in the table.
        const start = Math.min(at, left + width - wide);
        if (start < free || at > left + width) continue;
        label(mark.label, start + 5 * pixel, top + 13 * pixel);
        free = start + wide;
      }
    }
  });
}

// Draws the outline of bins down to zero at both ends.
function outline(u, number, first, last) {
  const paths = uPlot.paths.stepped({ align: 1 })(u, number, first, last);
  for (const end of [0, u.data[0].length - 1]) {
    const x = Math.round(u.valToPos(u.data[0][end], "x", true));
    paths.stroke.moveTo(x, u.valToPos(u.data[number][end], "y", true));
    paths.stroke.lineTo(x, u.valToPos(0, "y", true));
  }
  return paths;
}
const LOOKS = {
  line: { width: 2.25, pxAlign: 0 },
  dots: { width: 0, paths: () => null },
  both: { width: 2.25, pxAlign: 0 },
  bars: { width: 0, paths: (...told) => uPlot.paths.bars({ align: 1, size: [0.92] })(...told) },
  steps: { width: 2.25, paths: outline },
};

// Dots that would lie on each other are left out: from the last one backwards, since the newest matters most.
function apart(u, number, isShown) {
  if (!isShown) return null;
  const gap = (u.series[number].points.size + 2) * devicePixelRatio;
  const kept = [];
  let next = Infinity;
  for (let index = u.series[number].idxs[1]; index >= u.series[number].idxs[0]; index--) {
    if (u.data[number][index] === null) continue;
    const place = u.valToPos(u.data[0][index], "x", true);
    if (next - place < gap) continue;
    kept.unshift(index);
    next = place;
  }
  return kept;
}

function seriesOf(line, count) {
  const isAlone = line.values.filter((value) => value !== null).length === 1;
  return {
    ...LOOKS[line.look],
    stroke: () => colour(line.colour), dash: line.dash.map((length) => length * devicePixelRatio),
    fill: line.look === "bars" ? () => colour(line.colour) : undefined,
    points: {
      show: line.look === "dots" || line.look === "both" || (line.look === "line" && isAlone), size: count > 60 ? 4 : 10, width: count > 60 ? 0 : 1.5,
      fill: () => colour(line.colour), stroke: () => colour("--surface"),
      // A scatter keeps every dot, and its places are in no order.
      ...(line.look === "dots" ? {} : { filter: apart }),
    },
  };
}

// A binned plot has edges as places, one more than it has figures.
const isBinned = (plot) => plot.xs.length > plot.lines[0].values.length;
function said(plot, index) {
  if (index === null || index === undefined) return "";
  const write = (value) => written(plot.x.kind, value);
  const place = isBinned(plot) ? `${write(plot.xs[index])} to ${write(plot.xs[index + 1])}` : write(plot.xs[index]);
  const marks = plot.marks.filter((mark) => mark.axis === "x" && !mark.is_key && mark.at === plot.xs[index]).map((mark) => mark.label);
  const figures = plot.lines.filter((line) => line.values[index] !== null).map((line) => `${line.label} ${written(plot.y.kind, line.values[index])}`);
  const spans = plot.spans.filter((span) => span.low[index] !== null)
    .map((span) => `${span.label} ${written(plot.y.kind, span.low[index])} to ${written(plot.y.kind, span.high[index])}`);
  const where = plot.x.kind === "time" ? place : `${plot.x.title} ${place}`;
  return `${[where, ...marks].join(", ")}: ${[...figures, ...spans].join(", ") || "–"}`;
}

function drawn(figure) {
  const plot = JSON.parse(document.getElementById(`data-${figure.id}`).textContent);
  plot.marks = plot.marks.filter((mark) => mark.at !== null);
  const place = figure.querySelector(".plot-place");
  const readout = figure.querySelector(".readout");
  figure.hidden = false;
  const bands = plot.spans.filter((one) => one.look === "band");
  const bins = isBinned(plot);
  const count = plot.lines[0].values.length;
  // The last edge ends a bin and begins none, so it needs a value for steps and none for bars.
  const padded = (line) => (bins ? [...line.values, line.look === "steps" ? line.values.at(-1) : null] : line.values);
  const pointed = (u) => {
    if (!bins || u.cursor.left < 0) return u.cursor.idx;
    const found = plot.xs.findLastIndex((edge) => edge <= u.posToVal(u.cursor.left, "x"));
    return found < 0 || found === count ? null : found;
  };
  const series = [
    {},
    ...bands.flatMap(() => [0, 1].map(() => ({ stroke: "transparent", width: 0, points: { show: false } }))),
    ...plot.lines.map((line) => seriesOf(line, count)),
  ];
  const size = () => ({ width: place.clientWidth, height: place.clientHeight });
  const u = new uPlot({
    ...size(),
    // The last label of a time axis needs more room.
    padding: [12, plot.x.kind === "time" ? 46 : 26, 0, 0],
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false }, points: { show: !bins, size: 12, width: 3, stroke: () => colour("--ink"), fill: "transparent" } },
    tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000), "UTC"),
    scales: {
      x: { time: plot.x.kind === "time", range: range(plot.x, []) },
      y: { range: range(plot.y, plot.marks.filter((mark) => mark.axis === "y").map((mark) => mark.at)) },
    },
    axes: [axis(plot.x, 2), axis(plot.y, 3)],
    series,
    bands: bands.map((band, number) => ({ series: [2 * number + 1, 2 * number + 2], fill: () => faint(band.colour, 0.18) })),
    hooks: {
      drawAxes: [underneath(plot)],
      draw: [above(plot)],
      setCursor: [(self) => { readout.textContent = said(plot, pointed(self)); }],
    },
  }, [plot.xs, ...bands.flatMap((band) => [band.high, band.low]), ...plot.lines.map(padded)], place);
  const watch = new ResizeObserver(() => u.setSize(size()));
  watch.observe(place);
  const chart = { figure, u, watch, at: -1 };
  const point = () => {
    const middle = bins ? (plot.xs[chart.at] + plot.xs[chart.at + 1]) / 2 : plot.xs[chart.at];
    u.setCursor({ left: u.valToPos(middle, "x"), top: 10 });
  };
  place.addEventListener("keydown", (event) => {
    const steps = { ArrowRight: chart.at + 1, ArrowLeft: chart.at - 1, Home: 0, End: count - 1 };
    if (!(event.key in steps)) return;
    event.preventDefault();
    chart.at = Math.max(0, Math.min(count - 1, steps[event.key]));
    point();
  });
  // Focusing the chart again restores the point, once the chart has its scales.
  place.addEventListener("focus", () => { if (chart.at >= 0) queueMicrotask(point); });
  place.addEventListener("blur", () => u.setCursor({ left: -10, top: -10 }));
  return chart;
}

const charts = new Map();
// Draws the charts that are not drawn yet: those of the page, later those of refreshed parts.
function drawAll() {
  for (const figure of document.querySelectorAll("figure.plot")) {
    const before = charts.get(figure.id);
    if (before?.figure === figure) continue;
    const chart = drawn(figure);
    charts.set(figure.id, chart);
    // The chart replaces the table, which stays one click away.
    const table = document.getElementById(`${figure.id}-table`);
    if (table) table.open = false;
    if (!before) continue;
    // A person who points at the old chart keeps the same point.
    const { left, top } = before.u.cursor;
    chart.at = before.at;
    queueMicrotask(() => chart.u.setCursor({ left, top }));
    before.watch.disconnect();
    before.u.destroy();
  }
}
// Without the library, the tables stay open.
if (window.uPlot) {
  drawAll();
  document.addEventListener("htmx:afterSwap", drawAll);
}

function redraw() {
  colours.clear();
  charts.forEach((chart) => chart.u.redraw(false, true));
}
new MutationObserver(redraw).observe(document.documentElement, { attributeFilter: ["data-theme"] });
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
