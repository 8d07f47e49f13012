"use strict";
/* The page of glognn explore. Everything that comes from a user's tables is written as text, never as HTML. */
(async () => {
  const { get, make, count, counted, signed, short } = Shell;

  /* What Python packed: see glognn.report.page.pack. */
  async function unpack() {
    const text = get("data").textContent;
    get("data").remove();
    const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    const whole = await new Response(stream).arrayBuffer();
    const length = new DataView(whole).getUint32(0, true);
    const head = JSON.parse(new TextDecoder().decode(new Uint8Array(whole, 4, length)));
    const types = { Uint8: Uint8Array, Uint16: Uint16Array, Uint32: Uint32Array, Int16: Int16Array, Float32: Float32Array, Float64: Float64Array };
    const arrays = {};
    for (const [name, place] of Object.entries(head.arrays)) arrays[name] = new types[place.type](whole, 4 + length + place.offset, place.length);
    return [head.record, arrays];
  }

  const [record, arrays] = await unpack();
  const { ids, classes } = record;
  const nodes = ids.length;
  const numberOf = (i) => (arrays.numbers ? arrays.numbers[i] : i);
  const placeOf = new Map();
  if (arrays.numbers) arrays.numbers.forEach((number, i) => placeOf.set(number, i));
  const place = (number) => (arrays.numbers ? placeOf.get(number) : number);
  const width = arrays.likely.length / Math.max(1, nodes);
  const className = (number) => (number < 0 ? "" : classes[number]);

  /* ---- colours: Okabe and Ito's, with other shapes after the eighth class */
  const OKABE_ITO = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#d55e00", "#56b4e9", "#f0e442", "#8c8c8c"];
  const CIVIDIS = ["#00224e", "#0f3b6e", "#3a4c6c", "#57606e", "#737475", "#8f8a78", "#ae9f71", "#ceb761", "#f1d143", "#fee838"];
  const NONE = "#9aa3ad";
  const rgb = (hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
  const ramp = Array.from({ length: 256 }, (_, step) => {
    const at = step / 255 * (CIVIDIS.length - 1), low = Math.min(CIVIDIS.length - 2, Math.floor(at));
    const [a, b] = [rgb(CIVIDIS[low]), rgb(CIVIDIS[low + 1])];
    return a.map((value, k) => Math.round(value + (b[k] - value) * (at - low)));
  });
  const hue = (group) => OKABE_ITO[group % OKABE_ITO.length];
  const shapeOf = (group) => Math.floor(group / OKABE_ITO.length) % SHAPES;

  /* ---- what colours can mean: groups of nodes, or numbers; each also filters */
  const wrong = Int16Array.from(arrays.label, (label, i) => (label < 0 ? -1 : label === arrays.prediction[i] ? 0 : 1));
  const minusOne = (codes) => Int32Array.from(codes, (code) => (code === 65535 ? -1 : code));
  const modes = [
    { name: "Prediction", kind: "group", values: arrays.prediction, names: classes, none: "none" },
    { name: "Label", kind: "group", values: arrays.label, names: classes, none: "no label" },
    { name: "Error", kind: "group", values: wrong, names: ["right", "wrong"], none: "no label" },
    { name: "Confidence", kind: "number", values: arrays.confidence },
    { name: "Links (degree)", kind: "number", values: Float32Array.from(arrays.degree), log: true },
    { name: "Set", kind: "group", values: Int16Array.from(arrays.set), names: record.sets, none: "none" },
    ...record.columns.map((column, at) => (column.kind === "category"
      ? { name: column.name, own: true, kind: "group", values: minusOne(arrays[`column ${at}`]), names: column.values, none: "missing" }
      : { name: column.name, own: true, kind: "number", date: column.kind === "date", values: arrays[`column ${at}`] })),
  ];
  const DAY = 864e5;
  /* A number of a column as the table has it: dates are days since 1970; others are held in 32 bits. */
  function told(each, value) {
    if (!Number.isFinite(value)) return "missing";
    if (!each.date) return Number(value.toPrecision(7)).toLocaleString("en-US", { maximumSignificantDigits: 7 });
    const text = new Date(Math.round(value * 1440) * 6e4).toISOString();
    return text.slice(11, 16) === "00:00" ? text.slice(0, 10) : `${text.slice(0, 10)} ${text.slice(11, 16)}`;
  }
  for (const mode of modes) {
    if (mode.kind === "group") {
      mode.counts = new Map();
      for (const value of mode.values) mode.counts.set(value, (mode.counts.get(value) || 0) + 1);
      mode.hiddenGroups = new Set();
    } else {
      let low = Infinity, high = -Infinity;
      for (const value of mode.values) { if (value < low) low = value; if (value > high) high = value; }
      mode.low = Number.isFinite(low) ? low : 0; mode.high = Number.isFinite(high) ? high : 0;
      mode.from = null; mode.to = null;
    }
  }
  let mode = modes[0];

  const drawing = new Drawing(get("graph"), arrays.x, arrays.y, arrays.ends);
  const overlay = get("overlay"), pen = overlay.getContext("2d"), stage = get("stage");
  const shown = new Uint8Array(nodes).fill(1);
  let open = -1, hovered = -1, lasso = null, lassoing = false, chosen = new Set(), before = [], reasons = null, outside = null;

  /* ---- neighbours, from the edges that the page holds */
  const begins = new Uint32Array(nodes + 1), ends = arrays.ends, around = new Uint32Array(ends.length);
  for (let i = 0; i < ends.length; i++) begins[ends[i] + 1]++;
  for (let i = 0; i < nodes; i++) begins[i + 1] += begins[i];
  const next = begins.slice();
  for (let i = 0; i < ends.length; i += 2) { around[next[ends[i]]++] = ends[i + 1]; around[next[ends[i + 1]]++] = ends[i]; }
  const neighbours = (i) => around.subarray(begins[i], begins[i + 1]);

  function groupColour(found, value) { return value < 0 ? NONE : found.name === "Error" ? ["#56b4e9", "#d55e00"][value] : hue(value); }
  function colourOf(found, i) {
    const value = found.values[i];
    if (found.kind === "group") return rgb(groupColour(found, value));
    if (Number.isNaN(value)) return rgb(NONE);
    return ramp[Math.round(255 * share(found, value))];
  }
  function share(found, value) {
    const scale = found.log ? Math.log1p : (each) => each;
    const low = scale(found.low), high = scale(found.high);
    return high > low ? Math.max(0, Math.min(1, (scale(value) - low) / (high - low))) : 0.5;
  }
  function recolour() {
    const colours = new Uint8Array(4 * nodes), looks = new Uint8Array(nodes);
    const some = chosen.size > 0, ground = rgb(Shell.colour("--ground"));
    drawing.ground = ground;
    for (let i = 0; i < nodes; i++) {
      const own = colourOf(mode, i), faint = some && !chosen.has(i);
      for (let k = 0; k < 3; k++) colours[4 * i + k] = faint ? 0.2 * own[k] + 0.8 * ground[k] : own[k];
      colours[4 * i + 3] = shown[i] ? 255 : 0;
      if (mode.kind === "group" && mode.values[i] >= 0) looks[i] = mode.name === "Error" ? mode.values[i] * 3 : shapeOf(mode.values[i]);
    }
    if (drawing.able) drawing.setColours(colours, looks);
  }
  function filter() {
    shown.fill(1);
    let active = false;
    for (const each of modes) {
      if (each.kind === "group" && each.hiddenGroups.size) {
        active = true;
        for (let i = 0; i < nodes; i++) if (each.hiddenGroups.has(each.values[i])) shown[i] = 0;
      } else if (each.kind === "number" && (each.from !== null || each.to !== null)) {
        active = true;
        const from = each.from ?? -Infinity, to = each.to ?? Infinity;
        for (let i = 0; i < nodes; i++) if (!(each.values[i] >= from && each.values[i] <= to)) shown[i] = 0;
      }
    }
    let total = 0;
    for (const each of shown) total += each;
    get("shown").textContent = active ? `${count(total)} of ${count(nodes)} nodes shown` : `${count(nodes)} nodes shown`;
    get("clear").hidden = !active;
    if (drawing.able) drawing.setShown(shown);
    recolour();
  }

  /* ---- the legend */
  const SVG = "http://www.w3.org/2000/svg";
  function mark(colour, shape) {
    const svg = document.createElementNS(SVG, "svg");
    svg.setAttribute("viewBox", "-10 -10 20 20"); svg.setAttribute("aria-hidden", "true");
    const form = document.createElementNS(SVG, shape === 0 ? "circle" : "polygon");
    if (shape === 0) form.setAttribute("r", "8");
    else form.setAttribute("points", ["", "-7,-7 7,-7 7,7 -7,7", "0,-8 8,7 -8,7", "0,-9 9,0 0,9 -9,0"][shape]);
    form.setAttribute("fill", colour);
    svg.append(form);
    return svg;
  }
  function drawLegend() {
    const box = get("legend");
    box.replaceChildren();
    if (mode.kind === "number") {
      const bar = make("div", null, box, "ramp");
      bar.style.background = `linear-gradient(90deg, ${CIVIDIS.join(", ")})`;
      const labels = make("div", null, box, "ends");
      const end = (value) => (mode.date ? told(mode, value).slice(0, 10) : short(value));
      make("span", end(mode.low), labels); make("span", mode.log ? "logarithmic" : "", labels); make("span", end(mode.high), labels);
      const range = make("div", null, box, "range");
      for (const [key, words] of [["from", "at least"], ["to", "at most"]]) {
        const label = make("label", words, range);
        const input = make("input", null, label);
        input.type = mode.date ? "date" : "number";
        if (!mode.date) input.step = "any";
        input.value = mode[key] === null ? "" : mode.date ? told(mode, Math.floor(mode[key])) : mode[key];
        const last = mode.date && key === "to" ? 1 - 1e-6 : 0;
        input.addEventListener("change", () => { mode[key] = input.value === "" ? null : mode.date ? Date.parse(input.value) / DAY + last : Number(input.value); filter(); });
      }
      return;
    }
    const list = make("ul", null, box, "legend");
    const values = [...mode.counts.keys()].sort((a, b) => (a < 0) - (b < 0) || a - b);
    for (const value of values) {
      const button = make("button", null, make("li", null, list));
      button.type = "button";
      const words = value < 0 ? mode.none : mode.names[value];
      button.append(mark(groupColour(mode, value), value < 0 ? 0 : mode.name === "Error" ? value * 3 : shapeOf(value)));
      make("span", words, button, "name").title = words;
      make("span", count(mode.counts.get(value)), button, "count");
      const state = () => button.setAttribute("aria-pressed", String(!mode.hiddenGroups.has(value)));
      state();
      button.addEventListener("click", () => {
        if (!mode.hiddenGroups.delete(value)) mode.hiddenGroups.add(value);
        state(); filter();
      });
    }
  }
  function fillColours() {
    const select = get("colour");
    const given = make("optgroup", null, select); given.label = "The model and its graph";
    const own = make("optgroup", null, select); own.label = "Columns";
    modes.forEach((each, at) => { make("option", each.name, each.own ? own : given).value = at; });
    if (!own.children.length) own.remove();
    select.addEventListener("change", () => { mode = modes[select.value]; drawLegend(); recolour(); });
  }

  /* ---- the heat map */
  function drawMatrix() {
    const found = record.matrix;
    if (!found) return;
    get("matrix-section").hidden = false;
    if (classes.length > 60) { get("matrix-about").textContent = `Of ${count(classes.length)} classes there is no picture: glognn explain lists them.`; return; }
    get("matrix-about").textContent = `Mean coefficient of Z* (${found.model}): nodes of the row's class are spoken for (green) or against (purple) by nodes of the column's.`;
    const most = Math.max(...found.coefficients.flat().map(Math.abs)) || 1;
    const table = make("table", null, get("matrix"), "heat");
    const head = make("tr", null, make("thead", null, table));
    make("td", "", head);
    for (const name of classes) { const cell = make("th", name, head); cell.scope = "col"; cell.title = name; }
    const body = make("tbody", null, table);
    found.coefficients.forEach((row, a) => {
      const line = make("tr", null, body);
      const first = make("th", classes[a], line); first.scope = "row"; first.title = classes[a];
      row.forEach((value, b) => {
        const cell = make("td", null, line), strength = Math.abs(value) / most;
        const words = `${classes[a]} by ${classes[b]}: ${value < 0 ? "-" : "+"}${Math.abs(value).toExponential(2)}`;
        make("span", words, cell, "hidden");
        cell.title = words; cell.tabIndex = 0;
        cell.style.background = `color-mix(in srgb, var(${value >= 0 ? "--bar-for" : "--bar-against"}) ${Math.round(6 + 94 * strength)}%, var(--surface))`;
        const tell = () => { get("matrix-told").textContent = words; };
        cell.addEventListener("mouseenter", tell); cell.addEventListener("focus", tell);
      });
    });
  }

  /* ---- what lies over the graph: arcs, rings, the lasso */
  function ring(i, colour, radius, thick) {
    const [px, py] = drawing.screen(i);
    pen.beginPath(); pen.arc(px, py, radius, 0, 7); pen.lineWidth = thick; pen.strokeStyle = colour; pen.stroke();
  }
  function drawOver() {
    overlay.hidden = open < 0 && hovered < 0 && !lasso;
    if (overlay.hidden) return;
    const ratio = drawing.ratio, w = drawing.width, h = drawing.height;
    if (overlay.width !== Math.round(w * ratio) || overlay.height !== Math.round(h * ratio)) { overlay.width = Math.round(w * ratio); overlay.height = Math.round(h * ratio); }
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, w, h);
    const size = drawing.pointSize / 2, text = Shell.colour("--text"), ground = Shell.colour("--ground");
    if (open >= 0) {
      pen.lineWidth = 1.2; pen.strokeStyle = Shell.colour("--soft"); pen.globalAlpha = 0.55;
      const from = drawing.screen(open);
      for (const other of neighbours(open).subarray(0, 2000)) {
        if (!shown[other]) continue;
        const to = drawing.screen(other);
        pen.beginPath(); pen.moveTo(...from); pen.lineTo(...to); pen.stroke();
      }
      pen.globalAlpha = 1;
      if (reasons) drawArcs(from, size, text, ground);
      ring(open, ground, size + 6, 5); ring(open, text, size + 6, 2.5);
      label(ids[open], from[0], from[1] - size - 12, text, ground, true);
    }
    if (hovered >= 0 && hovered !== open) ring(hovered, text, size + 4, 2);
    if (lasso && lasso.length > 1) {
      pen.beginPath(); lasso.forEach(([px, py], at) => (at ? pen.lineTo(px, py) : pen.moveTo(px, py))); pen.closePath();
      pen.fillStyle = Shell.colour("--accent"); pen.globalAlpha = 0.12; pen.fill(); pen.globalAlpha = 1;
      pen.lineWidth = 1.5; pen.setLineDash([5, 4]); pen.strokeStyle = Shell.colour("--accent"); pen.stroke(); pen.setLineDash([]);
    }
  }
  function label(words, px, py, text, ground, strong) {
    const kept = words.length > 28 ? `${words.slice(0, 27)}…` : words;
    pen.font = `${strong ? 650 : 500} 12px system-ui, sans-serif`; pen.textAlign = "center"; pen.textBaseline = "alphabetic";
    pen.lineWidth = 4; pen.lineJoin = "round"; pen.strokeStyle = ground; pen.strokeText(kept, px, py);
    pen.fillStyle = text; pen.fillText(kept, px, py);
  }
  function strengthOf(each) { return each.loss ?? each.coefficient ?? each.for; }
  /* One arc for each node that speaks: green and whole for, purple and dashed against, as thick as it is strong. */
  function drawArcs(from, size, text, ground) {
    const told = [...reasons.supporters, ...reasons.opponents];
    const most = Math.max(...told.map((each) => Math.abs(strengthOf(each))), 1e-300);
    const named = [];
    for (const [list, colour, dash, side] of [[reasons.opponents, Shell.colour("--bar-against"), [7, 4], -1], [reasons.supporters, Shell.colour("--bar-for"), [], 1]]) {
      list.forEach((each, rank) => {
        const other = place(each.node);
        if (other === undefined || other === open) return;
        const to = drawing.screen(other), dx = to[0] - from[0], dy = to[1] - from[1];
        const bend = 0.22 * side;
        const mid = [(from[0] + to[0]) / 2 - dy * bend, (from[1] + to[1]) / 2 + dx * bend];
        const strength = Math.abs(strengthOf(each)) / most;
        pen.globalAlpha = 0.6 + 0.38 * strength; pen.strokeStyle = colour; pen.lineWidth = 1.5 + 3 * strength; pen.setLineDash(dash);
        pen.beginPath(); pen.moveTo(...from); pen.quadraticCurveTo(...mid, ...to); pen.stroke();
        pen.setLineDash([]); pen.globalAlpha = 1;
        ring(other, colour, size + 3.5, 2);
        if (rank < 3) named.push([each, to]);
      });
    }
    const taken = [from];
    for (const [each, to] of named) {
      if (taken.some(([px, py]) => Math.abs(px - to[0]) < 90 && Math.abs(py - to[1]) < 16)) continue;
      taken.push(to);
      label(each.id, to[0], to[1] - size - 7, text, ground, false);
    }
  }

  /* ---- the panel */
  function open_(i, options = {}) {
    if (open >= 0 && open !== i && !options.back) before.push(open);
    open = i; outside = null;
    reasons = record.reasons[String(numberOf(i))] || null;
    drawPanel();
    if (options.go) drawing.goTo(i, options.go);
    keepInSight(i);
    drawOver();
    get("live").textContent = `Node ${ids[i]}: ${className(arrays.prediction[i])}, ${(100 * arrays.confidence[i]).toFixed(1)} %`;
    if (!reasons && record.served) ask(`reasons?node=${numberOf(i)}`, (found) => { if (open === i) { record.reasons[String(numberOf(i))] = reasons = found.reasons; drawPanel(); drawOver(); } });
  }
  function keepInSight(i) {
    if (!drawing.able) return;
    const [px, py] = drawing.screen(i), margin = 60;
    const into = (at, size) => Math.max(margin - at, 0) + Math.min(size - margin - at, 0);
    const dx = into(px, drawing.width), dy = into(py, drawing.height);
    if (dx || dy) drawing.move(dx, dy);
  }
  function close() { open = -1; reasons = null; outside = null; before = []; get("panel").hidden = true; drawing.draw(); drawOver(); }
  async function ask(path, then) {
    try {
      const answer = await fetch(path);
      const found = await answer.json();
      if (!answer.ok) throw new Error(found.error);
      then(found);
    } catch (error) { get("live").textContent = String(error.message); const told = get("asked"); if (told) told.textContent = String(error.message); }
  }
  function link(words, i, parent) {
    if (i === undefined) { make("span", words, parent).title = "not drawn on this page"; return; }
    const button = make("button", words, parent, "link");
    button.type = "button";
    button.addEventListener("click", () => { open_(i); get("panel").focus(); });
    button.addEventListener("mouseenter", () => { hovered = i; drawOver(); });
    button.addEventListener("mouseleave", () => { hovered = -1; drawOver(); });
  }
  function heading(words, panel) { const section = make("section", null, panel); make("h3", words, section); return section; }
  function header(row, ...names) { names.forEach((name, at) => { const cell = make("th", name, row, at ? "number" : "wide"); cell.scope = "col"; }); }
  function bars(list, rows, name) {
    const box = make("dl", null, list, `bars ${name}`), most = Math.max(...rows.map((row) => Math.abs(row.value)), 1e-300);
    for (const row of rows) {
      const term = make("dt", row.name, box); term.title = row.title || row.name;
      const track = make("div", null, make("dd", null, box), "track"), bar = make("i", null, track);
      if (row.colour) { bar.style.left = "0"; bar.style.width = `${100 * row.value}%`; bar.style.background = row.colour; }
      else {
        const part = 50 * Math.abs(row.value) / most;
        bar.style.width = `${part}%`; bar.style.left = row.value < 0 ? `${50 - part}%` : "50%";
        bar.style.background = row.value < 0 ? "var(--bar-against)" : "var(--bar-for)";
      }
      make("dd", row.words, box, `value ${row.colour ? "" : row.value < 0 ? "against" : "for"}`);
    }
  }
  function drawPanel() {
    const panel = get("panel"), i = open, who = outside;
    panel.replaceChildren();
    panel.hidden = false;
    const head = make("div", null, panel, "head");
    make("h2", who ? who.id : ids[i], head).id = "node";
    const tools = make("div", null, head, "tools");
    if (before.length) { const back = make("button", "Back", tools); back.type = "button"; back.addEventListener("click", back_); }
    const shut = make("button", "Close", tools); shut.type = "button"; shut.addEventListener("click", close);
    const label = who ? who.reasons.label : arrays.label[i], prediction = who ? who.reasons.prediction : arrays.prediction[i];
    const degree = who ? who.degree : arrays.degree[i];
    const facts = make("p", null, panel, "facts");
    const right = label < 0 ? "no label" : label === prediction ? `labelled ${className(label)}` : `labelled ${className(label)}: predicted wrongly`;
    facts.textContent = [right, record.sets[who ? who.set : arrays.set[i]], counted(degree, "link"), ...(who ? ["not drawn: the picture is a sample"] : [])]
      .filter((words, at, all) => all.indexOf(words) === at).join(" · ");

    const predicted = heading(`Predicted: ${className(prediction)}`, panel);
    const likely = reasons
      ? reasons.probabilities.map((value, at) => [at, value]).sort((a, b) => b[1] - a[1]).slice(0, 6)
      : Array.from({ length: width }, (_, k) => [arrays.likely[i * width + k], arrays.chance[i * width + k]]);
    bars(predicted, likely.map(([number, value]) => ({ name: className(number), value, words: `${(100 * value).toFixed(1)} %`, colour: hue(number) })), "probabilities");
    drawReasons(panel, i);
    if (!who) { drawNeighbours(panel, i); drawColumns(panel, i); }
  }
  function drawReasons(panel, i) {
    const why = heading("Why", panel);
    if (!reasons) {
      if (record.served) { make("p", "Computing the reasons …", why, "soft").id = "asked"; return; }
      make("p", `This file holds the reasons of ${count(Object.keys(record.reasons).length)} nodes: wrongly predicted ones and the closest calls. For this one:`, why, "soft");
      const quoted = `'${ids[i].replaceAll("'", "'\\''")}'`;
      make("code", `${record.command.join(" ")} --node ${quoted} --top ${record.top}`, why, "copy");
      make("p", "or look at the page with glognn explore --serve, which computes them on demand.", why, "soft");
      return;
    }
    make("p", reasons.how, why, "small soft");
    const told = [...reasons.supporters, ...reasons.opponents];
    const withCoefficients = told.some((each) => each.coefficient !== null), withLosses = told.some((each) => each.loss !== null);
    const table = make("table", null, why);
    table.id = "reasons";
    const top = make("tr", null, make("thead", null, table));
    header(top, "node", ...(withLosses ? ["loss"] : []), ...(withCoefficients ? ["coefficient"] : []), "for", "hops");
    const body = make("tbody", null, table);
    const columns = 3 + withCoefficients + withLosses;
    for (const [words, list] of [["speak for it", reasons.supporters], ["speak against it", reasons.opponents]]) {
      if (!list.length) continue;
      const line = make("tr", null, body, "group");
      make("td", words, line).colSpan = columns;
      for (const each of list) {
        const row = make("tr", null, body), first = make("td", null, row);
        const itself = each.node === (outside ? outside.node : numberOf(i));
        if (itself) make("span", `${each.id} (itself)`, first); else link(each.id, place(each.node), first);
        const what = each.label >= 0 ? className(each.label) : `${className(each.prediction)}?`;
        const shared = [each.neighbours ? `${counted(each.neighbours, "neighbour")} shared` : "", each.features !== null ? `${counted(each.features, "feature")} shared` : each.cosine !== null ? `features alike ${each.cosine.toFixed(2)}` : ""].filter(Boolean).join(", ");
        make("div", [what, shared].filter(Boolean).join(" · "), first, "small soft");
        if (withLosses) make("td", each.loss === null ? "" : signed(each.loss, 4), row, "number loss");
        if (withCoefficients) make("td", each.coefficient === null ? "" : signed(each.coefficient, 5), row, "number coefficient");
        make("td", signed(each.for, 4), row, `number margin ${each.for < 0 ? "against" : "for"}`);
        make("td", each.hops === null ? "no path" : each.hops, row, "number");
      }
    }
    const line = make("tr", null, body, "group");
    make("td", "in all", line).colSpan = columns;
    for (const [words, value] of reasons.rows) {
      const row = make("tr", null, body, words === "the score" ? "total" : "");
      make("td", words, row).colSpan = columns - 2;
      make("td", signed(value, 4), row, `number ${value < 0 ? "against" : "for"}`);
      make("td", "", row);
    }
    if (reasons.inputs.length) {
      const inputs = heading("What its own features and links add", panel);
      make("p", `to its ${reasons.inputs_to} (${reasons.inputs_method})`, inputs, "small soft");
      bars(inputs, reasons.inputs.map(([kind, name, value, added]) => ({ name, title: value === null ? `${kind}: ${name}` : `${kind}: ${name}, to the model ${short(value)}`, value: added, words: signed(added, 4) })), "inputs");
    }
    if (reasons.ways.length) {
      const ways = heading("How nodes came to speak for it", panel);
      bars(ways, reasons.ways.map(([name, weight, added]) => ({ name, title: `${name}, weight ${signed(weight, 4)}`, value: added, words: signed(added, 4) })), "inputs ways");
    }
  }
  function drawNeighbours(panel, i) {
    const all = [...neighbours(i)];
    if (!all.length) return;
    const section = heading(`Neighbours (${count(all.length)}${all.length < arrays.degree[i] ? ` of ${count(arrays.degree[i])} drawn` : ""})`, panel);
    const list = make("ul", null, section, "chips");
    for (const other of all.slice(0, 60)) {
      const button = make("button", ids[other], make("li", null, list));
      button.type = "button";
      const known = arrays.label[other] >= 0 ? arrays.label[other] : arrays.prediction[other];
      button.style.borderLeftColor = hue(known);
      button.title = `${ids[other]}: ${arrays.label[other] >= 0 ? className(known) : `${className(known)}?`}`;
      button.addEventListener("click", () => { open_(other); get("panel").focus(); });
    }
    if (all.length > 60) make("p", `and ${count(all.length - 60)} more`, section, "small soft");
  }
  function drawColumns(panel, i) {
    const own = modes.filter((each) => each.own);
    if (!own.length) return;
    const body = make("tbody", null, make("table", null, heading("Its columns", panel)));
    for (const each of own) {
      const row = make("tr", null, body);
      const head_ = make("th", each.name, row); head_.scope = "row";
      const value = each.values[i];
      make("td", each.kind === "number" ? told(each, value) : value < 0 ? each.none : each.names[value], row, "number");
    }
  }
  function back_() { const last = before.pop(); if (last !== undefined) open_(last, { back: true }); }

  /* ---- search */
  const search = get("search"), matches = get("matches");
  let listed = [], active = -1;
  function find(text) {
    const wanted = text.toLowerCase(), exact = [], begin = [], within = [];
    for (let i = 0; i < nodes && exact.length + begin.length < 30; i++) {
      const at = ids[i].toLowerCase().indexOf(wanted);
      if (at < 0) continue;
      if (ids[i] === text) exact.push(i); else if (at === 0) begin.push(i); else if (within.length < 30) within.push(i);
    }
    return [...exact, ...begin, ...within].slice(0, 30);
  }
  function showMatches() {
    const text = search.value.trim();
    matches.replaceChildren();
    listed = text ? find(text) : [];
    active = listed.length ? 0 : -1;
    listed.forEach((i, at) => {
      const item = make("li", null, matches);
      item.id = `match-${at}`; item.setAttribute("role", "option"); item.setAttribute("aria-selected", String(at === active));
      make("span", ids[i], item); make("span", className(arrays.prediction[i]), item, "small soft");
      item.addEventListener("mousedown", (event) => { event.preventDefault(); take(i); });
    });
    if (text && !listed.length) make("li", record.served ? "Not drawn: Enter asks the model" : "No node of this name is on the page", matches, "soft");
    matches.hidden = !text;
    search.setAttribute("aria-expanded", String(Boolean(text)));
    search.setAttribute("aria-activedescendant", active >= 0 ? `match-${active}` : "");
  }
  function take(i) { hideMatches(); search.value = ids[i]; get("graph").focus(); open_(i, { go: 3 }); }
  function hideMatches() { matches.hidden = true; search.setAttribute("aria-expanded", "false"); search.setAttribute("aria-activedescendant", ""); }
  search.addEventListener("input", showMatches);
  search.addEventListener("focus", () => { if (search.value) showMatches(); });
  search.addEventListener("blur", hideMatches);
  search.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      if (!listed.length) return;
      active = (active + (event.key === "ArrowDown" ? 1 : listed.length - 1)) % listed.length;
      [...matches.children].forEach((item, at) => item.setAttribute("aria-selected", String(at === active)));
      matches.children[active].scrollIntoView({ block: "nearest" });
      search.setAttribute("aria-activedescendant", `match-${active}`);
    } else if (event.key === "Enter") {
      if (active >= 0) take(listed[active]);
      else if (record.served && search.value.trim()) {
        const wanted = search.value.trim();
        ask(`find?id=${encodeURIComponent(wanted)}`, (found) => { hideMatches(); outside = found; open = -1; reasons = found.reasons; drawPanel(); drawOver(); get("live").textContent = `Node ${found.id}`; });
      }
    } else if (event.key === "Escape") { event.stopPropagation(); if (matches.hidden) get("graph").focus(); hideMatches(); }
  });

  /* ---- the lasso */
  function setLasso(on) { lassoing = on; get("lasso").setAttribute("aria-pressed", String(on)); stage.classList.toggle("lasso", on); }
  function inside(polygon, px, py) {
    let odd = false;
    for (let a = 0, b = polygon.length - 1; a < polygon.length; b = a++) {
      const [ax, ay] = polygon[a], [bx, by] = polygon[b];
      if ((ay > py) !== (by > py) && px < (bx - ax) * (py - ay) / (by - ay) + ax) odd = !odd;
    }
    return odd;
  }
  function choose(polygon) {
    chosen = new Set();
    for (let i = 0; i < nodes; i++) { if (shown[i] && inside(polygon, ...drawing.screen(i))) chosen.add(i); }
    get("chosen").hidden = !chosen.size;
    get("chosen-count").textContent = `${counted(chosen.size, "node")} chosen`;
    recolour();
  }
  function dropChosen() { chosen = new Set(); get("chosen").hidden = true; recolour(); }
  function csv() {
    const quote = (value) => { const text = String(value); return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text; };
    const own = modes.filter((each) => each.own);
    const lines = [["id", "label", "prediction", "confidence", "set", "degree", ...own.map((each) => each.name)]];
    for (const i of chosen) {
      lines.push([ids[i], className(arrays.label[i]), className(arrays.prediction[i]), arrays.confidence[i], record.sets[arrays.set[i]], arrays.degree[i],
        ...own.map((each) => { const value = each.values[i]; return each.kind === "number" ? (Number.isNaN(value) ? "" : each.date ? told(each, value) : value) : value < 0 ? "" : each.names[value]; })]);
    }
    return `${lines.map((line) => line.map(quote).join(",")).join("\n")}\n`;
  }
  function save() {
    const address = URL.createObjectURL(new Blob([csv()], { type: "text/csv" })), anchor = document.createElement("a");
    anchor.href = address; anchor.download = "nodes.csv"; anchor.click();
    setTimeout(() => URL.revokeObjectURL(address), 1000);
  }

  /* ---- mouse, touch and keys */
  const surface = get("graph"), fingers = new Map();
  let pressed = null;
  const at = (event) => { const box = stage.getBoundingClientRect(); return [event.clientX - box.left, event.clientY - box.top]; };
  surface.addEventListener("pointerdown", (event) => {
    const [px, py] = at(event);
    fingers.set(event.pointerId, [px, py]);
    surface.setPointerCapture(event.pointerId);
    pressed = { px, py, moved: false };
    if (lassoing || event.shiftKey) lasso = [[px, py]];
  });
  surface.addEventListener("pointermove", (event) => {
    const [px, py] = at(event), last = fingers.get(event.pointerId);
    if (!last) { hover(px, py); return; }
    if (fingers.size === 2) {
      const [other] = [...fingers].filter(([id]) => id !== event.pointerId).map(([, where]) => where);
      const was = Math.hypot(last[0] - other[0], last[1] - other[1]), is = Math.hypot(px - other[0], py - other[1]);
      if (was > 0) drawing.zoom(is / was, (px + other[0]) / 2, (py + other[1]) / 2);
    } else if (lasso) { lasso.push([px, py]); drawOver(); } else drawing.move(px - last[0], py - last[1]);
    fingers.set(event.pointerId, [px, py]);
    if (pressed && Math.hypot(px - pressed.px, py - pressed.py) > 4) pressed.moved = true;
  });
  const lift = (event) => {
    const [px, py] = at(event);
    if (lasso && lasso.length > 2) choose(lasso);
    else if (pressed && !pressed.moved && event.type === "pointerup") {
      const found = drawing.nearest(px, py, Math.max(12, drawing.pointSize));
      if (found >= 0) open_(found); else close();
    }
    lasso = null; pressed = null; fingers.delete(event.pointerId); drawOver();
  };
  surface.addEventListener("pointerup", lift);
  surface.addEventListener("pointercancel", lift);
  surface.addEventListener("pointerleave", () => { hovered = -1; get("tip").hidden = true; drawOver(); });
  surface.addEventListener("wheel", (event) => { event.preventDefault(); drawing.zoom(Math.exp(-event.deltaY * (event.deltaMode ? 0.05 : 0.0016)), ...at(event)); }, { passive: false });
  surface.addEventListener("dblclick", (event) => drawing.zoom(2, ...at(event)));
  function hover(px, py) {
    const found = drawing.nearest(px, py, Math.max(10, drawing.pointSize)), tip = get("tip");
    if (found !== hovered) { hovered = found; drawOver(); }
    tip.hidden = found < 0;
    if (found < 0) return;
    tip.textContent = `${ids[found]}: ${className(arrays.prediction[found])}, ${(100 * arrays.confidence[found]).toFixed(1)} %`;
    tip.style.left = `${Math.min(px + 14, drawing.width - 180)}px`; tip.style.top = `${Math.max(4, py - 30)}px`;
  }
  /* The nearest node that way, counting what lies aside twice. */
  function towards(dx, dy) {
    const [ox, oy] = drawing.screen(open);
    let best = -1, least = Infinity;
    for (let i = 0; i < nodes; i++) {
      if (i === open || !shown[i]) continue;
      const [px, py] = drawing.screen(i), along = (px - ox) * dx + (py - oy) * dy, aside = Math.abs((px - ox) * dy) + Math.abs((py - oy) * dx);
      if (along <= 0.5 || aside > 1.5 * along) continue;
      const far = along + 2 * aside;
      if (far < least) { least = far; best = i; }
    }
    return best;
  }
  const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
  const middle = () => [drawing.width / 2, drawing.height / 2];
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const typing = event.target.closest("input, select, textarea"), help = get("help");
    if (event.key === "Escape") {
      if (help.open) return;
      if (typing) { event.target.blur(); get("graph").focus(); } else if (lassoing) setLasso(false); else if (chosen.size) dropChosen(); else close();
      return;
    }
    if (typing || help.open) return;
    const key = event.key.toLowerCase();
    if (event.key in ARROWS && (event.target === surface || event.target === document.body)) {
      event.preventDefault();
      const [dx, dy] = ARROWS[event.key];
      if (open < 0) drawing.move(-60 * dx, -60 * dy);
      else { const found = towards(dx, dy); if (found >= 0) open_(found); }
    } else if (key === "/") { event.preventDefault(); search.focus(); search.select(); }
    else if (key === "?") help.showModal();
    else if (key === "+" || key === "=") drawing.zoom(1.3, ...middle());
    else if (key === "-") drawing.zoom(1 / 1.3, ...middle());
    else if (key === "0") drawing.fit();
    else if (key === "l") setLasso(!lassoing);
    else if (key === "t") get("theme").click();
    else if (key === "c") get("colour").focus();
    else if (key === "b") back_();
    else if (event.key === "Enter" && event.target === surface) { const found = drawing.nearest(...middle(), Math.hypot(...middle())); if (found >= 0) open_(found); }
  });
  get("ink").addEventListener("input", () => {
    drawing.ink = Number(get("ink").value);
    get("ink").setAttribute("aria-valuetext", drawing.ink === 0 ? "not shown" : `${drawing.ink} times as strong`);
    drawing.redraw();
  });
  get("lasso").addEventListener("click", () => setLasso(!lassoing));
  get("fit").addEventListener("click", () => drawing.fit());
  get("shortcuts").addEventListener("click", () => get("help").showModal());
  get("help-close").addEventListener("click", () => get("help").close());
  get("csv").addEventListener("click", save);
  get("drop").addEventListener("click", dropChosen);
  get("clear").addEventListener("click", () => { for (const each of modes) { if (each.hiddenGroups) each.hiddenGroups.clear(); else { each.from = null; each.to = null; } } drawLegend(); filter(); });

  /* ---- begin */
  let sample = "";
  function tellSample() {
    const few = drawing.able && drawing.ink > 0 && drawing.wantedEdges < drawing.shownEdges;
    const words = few ? `Every ${ordinal(Math.round(drawing.shownEdges / Math.max(1, drawing.wantedEdges)))} link is drawn from this far; closer, all are.` : "";
    if (drawing.able && get("note").textContent !== sample + words) get("note").textContent = sample + words;
  }
  function ordinal(number) { return number < 2 ? "other" : `${number}${["th", "st", "nd", "rd"][number % 100 > 10 && number % 100 < 14 ? 0 : number % 10] || "th"}`; }
  function tellAbout() {
    get("title").textContent = record.title;
    const sampled = nodes < record.nodes || record.drawn_edges < record.edges;
    get("about").textContent = [`${count(record.nodes)} nodes`, `${count(record.edges)} links`, record.score].filter(Boolean).join(" · ");
    sample = sampled ? `A sample is drawn: ${count(nodes)} of ${count(record.nodes)} nodes, ${count(record.drawn_edges)} of ${count(record.edges)} links. ` : "";
    const notes = get("notes"), reasons_ = Object.keys(record.reasons).length;
    make("p", `Places: ${record.layout}. Near means alike; directions mean nothing.`, notes);
    make("p", record.served ? "Reasons are computed when a node is opened." : reasons_ >= record.nodes ? "The file holds the reasons of every node."
      : `The file holds the reasons of ${count(reasons_)} of ${count(record.nodes)} nodes: wrongly predicted ones and the closest calls. glognn explore --reasons N holds more, --serve all.`, notes);
    make("p", "Scores and reasons of training nodes are of nodes that the model has learned from.", notes);
    make("p", "Drawn with twgl.js (MIT licence, Gregg Tavares). This page asks nothing of the network.", notes);
  }
  tellAbout(); fillColours(); drawLegend(); drawMatrix();
  drawing.ondraw = () => { drawOver(); tellSample(); };
  Shell.startTheme(get("theme"), () => { recolour(); drawOver(); });
  if (!drawing.able) get("note").textContent = "This browser has no WebGL 2, so that the graph is not drawn; search and the panel of a node work.";
  drawing.fit(); filter();
  new ResizeObserver(() => { drawing.redraw(); drawOver(); }).observe(stage);
  window.explore = { drawing, ids, csv, open: open_, get node() { return open; }, held: (i) => String(numberOf(i)) in record.reasons };
  document.documentElement.dataset.ready = "true";
})();
