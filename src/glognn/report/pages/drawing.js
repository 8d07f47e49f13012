"use strict";
/* Nodes and edges on a WebGL canvas, through twgl.js. While the picture moves as many are drawn as there is time for; when
   it rests the other edges are added, part by part, and the nodes again above them. Both are kept in an order in which
   every beginning is a sample. Where there is no time even for few, as without a graphics card, the picture as it is drawn
   is shifted and stretched while it moves, and drawn anew when it rests or has gone far. */
const SHAPES = 4, FAINTEST = 0.014, CROWD = 1.2, FEWEST = 5000, SLOW = 50, PAUSE = 120;
const POINTS = {
  vertex: `#version 300 es
    in vec2 place; in vec4 colour; in float look;
    uniform vec2 centre; uniform vec2 zoom; uniform float size;
    out vec4 fill; flat out int shape;
    void main() {
      fill = colour; shape = int(look + 0.5);
      vec2 at = (place - centre) * zoom;
      gl_Position = vec4(colour.a > 0.0 ? at : vec2(9.0), 0.0, 1.0);
      gl_PointSize = size * (shape == 0 ? 1.0 : 1.15);
    }`,
  fragment: `#version 300 es
    precision highp float;
    in vec4 fill; flat in int shape; uniform vec3 rim; uniform float size;
    out vec4 shown;
    void main() {
      vec2 p = gl_PointCoord * 2.0 - 1.0;
      float d = length(p);
      if (shape == 1) d = max(abs(p.x), abs(p.y)) * 1.2;
      if (shape == 2) d = max(abs(p.x) * 0.95 + p.y * -0.55, p.y) * 1.35 + 0.12;
      if (shape == 3) d = (abs(p.x) + abs(p.y)) * 1.02;
      float soft = 2.0 / size;
      float inside = 1.0 - smoothstep(1.0 - soft, 1.0, d);
      if (inside <= 0.0) discard;
      float edge = size > 7.0 ? smoothstep(1.0 - 2.2 * soft, 1.0 - 1.3 * soft, d) * min(0.8, (size - 7.0) * 0.2) : 0.0;
      shown = vec4(mix(fill.rgb, rim, edge), fill.a * inside);
      shown.rgb *= shown.a;
    }`,
};
const LINES = {
  vertex: `#version 300 es
    in vec2 place; uniform vec2 centre; uniform vec2 zoom;
    void main() { gl_Position = vec4((place - centre) * zoom, 0.0, 1.0); }`,
  fragment: `#version 300 es
    precision mediump float; uniform vec4 colour; out vec4 shown;
    void main() { shown = colour; }`,
};

/* Numbers from 0 on in an order that is mixed, the same every time. */
function mixed(count) {
  const found = Uint32Array.from({ length: count }, (_, k) => k);
  for (let k = count - 1, seed = 1; k > 0; k--) {
    seed = Math.imul(seed, 1664525) + 1013904223 >>> 0;
    const other = seed % (k + 1), kept = found[k];
    found[k] = found[other]; found[other] = kept;
  }
  return found;
}

class Drawing {
  constructor(canvas, x, y, ends) {
    this.canvas = canvas; this.x = x; this.y = y; this.ends = ends;
    this.count = x.length;
    this.view = { x: 0.5, y: 0.5, scale: 1 };
    this.frames = 0; this.budget = Math.min(20000, ends.length / 2); this.moved = false; this.last = 0; this.rest = 0; this.asked = false; this.ink = 1;
    this.gl = canvas.getContext("webgl2", { antialias: false, alpha: false, depth: false, preserveDrawingBuffer: true, powerPreference: "high-performance" });
    this.able = Boolean(this.gl);
    if (!this.able) return;
    this.order = mixed(this.count);
    this.pointBudget = this.count;
    const place = new Uint16Array(2 * this.count);
    this.order.forEach((i, k) => { place[2 * k] = x[i]; place[2 * k + 1] = y[i]; });
    const colours = new Uint8Array(4 * this.count).fill(255), looks = new Uint8Array(this.count);
    const at = { numComponents: 2, data: place, normalize: true };
    this.pointProgram = twgl.createProgramInfo(this.gl, [POINTS.vertex, POINTS.fragment]);
    this.points = twgl.createBufferInfoFromArrays(this.gl, {
      place: at, colour: { numComponents: 4, data: colours, normalize: true },
      look: { numComponents: 1, data: looks, normalize: false },
    });
    this.lineProgram = twgl.createProgramInfo(this.gl, [LINES.vertex, LINES.fragment]);
    this.lineBuffers = twgl.createBufferInfoFromArrays(this.gl, { place: { numComponents: 2, data: this._ends(null), normalize: true } });
    this.drawnEdges = 0;
    this._grid();
    canvas.addEventListener("webglcontextlost", (event) => event.preventDefault());
  }
  setColours(colours, looks) {
    const bytes = new Uint32Array(colours.buffer), mixedColours = new Uint32Array(this.count), mixedLooks = new Uint8Array(this.count);
    this.order.forEach((i, k) => { mixedColours[k] = bytes[i]; mixedLooks[k] = looks[i]; });
    twgl.setAttribInfoBufferFromArray(this.gl, this.points.attribs.colour, new Uint8Array(mixedColours.buffer));
    twgl.setAttribInfoBufferFromArray(this.gl, this.points.attribs.look, mixedLooks);
    this.redraw();
  }
  /* Edges with a hidden end are left out. */
  setShown(shown) {
    twgl.setAttribInfoBufferFromArray(this.gl, this.lineBuffers.attribs.place, this._ends(shown));
    this.shown = shown;
    this.redraw();
  }
  /* The places of both ends of every edge that is shown. */
  _ends(shown) {
    const found = new Uint16Array(2 * this.ends.length);
    let length = 0;
    for (let k = 0; k < this.ends.length; k += 2) {
      const a = this.ends[k], b = this.ends[k + 1];
      if (shown && !(shown[a] && shown[b])) continue;
      found[length] = this.x[a]; found[length + 1] = this.y[a]; found[length + 2] = this.x[b]; found[length + 3] = this.y[b];
      length += 4;
    }
    this.shownEdges = length / 4;
    return found.subarray(0, length);
  }
  get width() { return this.canvas.clientWidth; }
  get height() { return this.canvas.clientHeight; }
  get ratio() { return Math.min(window.devicePixelRatio || 1, 2); }
  fit() { this.view = { x: 0.5, y: 0.5, scale: 0.92 * Math.min(this.width, this.height) || 1 }; this.draw(); }
  get closeness() { return this.view.scale / Math.max(1, 0.92 * Math.min(this.width, this.height)); }
  screen(i) { return [(this.x[i] / 65535 - this.view.x) * this.view.scale + this.width / 2, (this.y[i] / 65535 - this.view.y) * this.view.scale + this.height / 2]; }
  world(px, py) { return [(px - this.width / 2) / this.view.scale + this.view.x, (py - this.height / 2) / this.view.scale + this.view.y]; }
  get pointSize() {
    const crowd = Math.sqrt(Math.min(this.width * this.height, 1.2e6) / Math.max(this.count, 1));
    return Math.max(2.5, Math.min(18, 0.42 * crowd * Math.pow(this.closeness, 0.4)));
  }
  move(dx, dy) { this.view.x -= dx / this.view.scale; this.view.y -= dy / this.view.scale; this.draw(); }
  zoom(factor, px, py) {
    const [wx, wy] = this.world(px, py);
    this.view.scale = Math.max(40, Math.min(4e6, this.view.scale * factor));
    this.view.x = wx - (px - this.width / 2) / this.view.scale;
    this.view.y = wy - (py - this.height / 2) / this.view.scale;
    this.draw();
  }
  goTo(i, closeness) {
    this.view.x = this.x[i] / 65535; this.view.y = this.y[i] / 65535;
    if (closeness) this.view.scale = Math.max(this.view.scale, closeness * 0.92 * Math.min(this.width, this.height));
    this.draw();
  }
  draw() {
    this.moving = true;
    if (this.slow && this.able && this._shift()) return;
    if (!this.asked && this.able) { this.asked = true; requestAnimationFrame((now) => this._frame(now)); }
  }
  _frame(now) {
    this.asked = false;
    if (this.shifted && !this.moving) return;
    if (this.moving) {
      if (this.moved) {
        const took = Math.max(1, now - this.last);
        this.slow ||= took > SLOW && this.budget <= 1000 && this.pointBudget <= FEWEST;
        const change = Math.max(0.3, Math.min(1.2, 30 / took));
        this.budget = Math.max(1000, Math.min(this.shownEdges, this.budget * change));
        this.pointBudget = Math.max(Math.min(this.count, FEWEST), Math.min(this.count, Math.round(this.pointBudget * change)));
      }
      this.moved = true;
      this.moving = false; this.rest = 0;
      this._resize();
      this._clear();
      this.drawn = { ...this.view }; this.shifted = false; this.canvas.style.transform = ""; clearTimeout(this.later);
      this._lines(0, this.budget);
      this._points(this.pointBudget);
    } else {
      this.moved = false;
      if (this.rest++ >= 6) { this._lines(this.drawnEdges, 4 * this.budget); this._points(this.count); }
    }
    this.last = now; this.frames++;
    if (this.ondraw) this.ondraw();
    if (this.drawnEdges < this.wantedEdges || this.drawnPoints < this.count) { this.asked = true; requestAnimationFrame((next) => this._frame(next)); }
  }
  /* Show the picture as it was drawn where it lies now; false where too little of it would be seen. */
  _shift() {
    const from = this.drawn, to = this.view;
    if (!from) return false;
    const stretch = to.scale / from.scale, dx = (from.x - to.x) * to.scale, dy = (from.y - to.y) * to.scale;
    if (stretch < 0.6 || stretch > 1.7 || Math.abs(dx) > 0.4 * this.width || Math.abs(dy) > 0.4 * this.height) return false;
    this.shifted = true; this.moving = false;
    this.canvas.style.transform = `translate(${dx}px, ${dy}px) scale(${stretch})`;
    this.frames++;
    if (this.ondraw) this.ondraw();
    clearTimeout(this.later);
    this.later = setTimeout(() => { this.moved = false; this.redraw(); }, PAUSE);
    return true;
  }
  /* Draw it anew, whatever is shown of it: colours, filters or the size have changed, or it rests. */
  redraw() {
    this.moving = true; this.drawn = null; this.shifted = false;
    if (!this.asked && this.able) { this.asked = true; requestAnimationFrame((now) => this._frame(now)); }
  }
  _resize() {
    const canvas = this.canvas, width = Math.round(canvas.clientWidth * this.ratio), height = Math.round(canvas.clientHeight * this.ratio);
    if (canvas.width !== width || canvas.height !== height) { canvas.width = width; canvas.height = height; }
  }
  _uniforms() { return { centre: [this.view.x, this.view.y], zoom: [2 * this.view.scale / Math.max(1, this.width), -2 * this.view.scale / Math.max(1, this.height)] }; }
  _clear() {
    const gl = this.gl, [r, g, b] = this.ground || [1, 1, 1];
    gl.viewport(0, 0, this.canvas.width, this.canvas.height);
    gl.clearColor(r / 255, g / 255, b / 255, 1); gl.clear(gl.COLOR_BUFFER_BIT);
  }
  _lines(start, count) {
    const gl = this.gl, end = Math.min(this.wantedEdges, Math.round(start + count));
    if (start === 0) this.drawnEdges = 0;
    if (end <= start) return;
    const [r, g, b] = Shell.dark ? [0.72, 0.78, 0.86] : [0.3, 0.36, 0.45];
    const strong = Math.min(1, this.ink * this._strength() * (Shell.dark ? 0.55 : 1));
    gl.enable(gl.BLEND); gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    gl.useProgram(this.lineProgram.program);
    twgl.setBuffersAndAttributes(gl, this.lineProgram, this.lineBuffers);
    twgl.setUniforms(this.lineProgram, { ...this._uniforms(), colour: [r * strong, g * strong, b * strong, strong] });
    gl.drawArrays(gl.LINES, 2 * start, 2 * (end - start));
    this.drawnEdges = end;
  }
  /* As many as leave the picture readable: further away fewer, close by all of them. */
  get wantedEdges() { return Math.min(this.shownEdges, Math.round(this.ink * CROWD * this._room() / FAINTEST)); }
  /* So faint that all edges together cover about a third of the picture; never below what 8 bits can show. */
  _strength() { return Math.max(FAINTEST, Math.min(0.5, 0.34 * this._room() / Math.max(1, this.shownEdges))); }
  /* How many edges of full strength would cover the picture once. */
  _room() {
    if (!this.length) {
      let sum = 0;
      const some = Math.min(2000, this.ends.length / 2);
      for (let k = 0; k < some; k++) {
        const a = this.ends[2 * k], b = this.ends[2 * k + 1];
        sum += Math.hypot(this.x[a] - this.x[b], this.y[a] - this.y[b]) / 65535;
      }
      this.length = sum / Math.max(1, some) || 0.1;
    }
    return 0.5 * this.view.scale / this.length * Math.pow(Math.max(1, this.closeness), 0.8);
  }
  _points(count) {
    const gl = this.gl;
    gl.enable(gl.BLEND); gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    gl.useProgram(this.pointProgram.program);
    twgl.setBuffersAndAttributes(gl, this.pointProgram, this.points);
    const rim = Shell.dark ? [0.36, 0.4, 0.46] : [1, 1, 1];
    twgl.setUniforms(this.pointProgram, { ...this._uniforms(), size: this.pointSize * this.ratio, rim });
    gl.drawArrays(gl.POINTS, 0, count);
    this.drawnPoints = count;
  }
  /* The nodes by square of a grid, so that the nearest is found among few. */
  _grid() {
    const side = this.side = Math.max(1, Math.min(256, Math.round(Math.sqrt(this.count / 4))));
    this.begins = new Uint32Array(side * side + 1);
    const square = new Uint32Array(this.count);
    for (let i = 0; i < this.count; i++) {
      square[i] = Math.min(side - 1, this.y[i] * side >> 16) * side + Math.min(side - 1, this.x[i] * side >> 16);
      this.begins[square[i] + 1]++;
    }
    for (let s = 0; s < side * side; s++) this.begins[s + 1] += this.begins[s];
    const next = this.begins.slice();
    this.inside = new Uint32Array(this.count);
    for (let i = 0; i < this.count; i++) this.inside[next[square[i]]++] = i;
  }
  /* The nearest node that is shown within some pixels, or -1. */
  nearest(px, py, reach) {
    const [wx, wy] = this.world(px, py), far = reach / this.view.scale, side = this.side;
    const low = (w) => Math.max(0, Math.min(side - 1, Math.floor((w - far) * side))), high = (w) => Math.max(0, Math.min(side - 1, Math.floor((w + far) * side)));
    let best = -1, least = far * far;
    for (let row = low(wy); row <= high(wy); row++) {
      for (let s = row * side + low(wx); s <= row * side + high(wx); s++) {
        for (let k = this.begins[s]; k < this.begins[s + 1]; k++) {
          const i = this.inside[k];
          if (this.shown && !this.shown[i]) continue;
          const dx = this.x[i] / 65535 - wx, dy = this.y[i] / 65535 - wy, d = dx * dx + dy * dy;
          if (d <= least) { least = d; best = i; }
        }
      }
    }
    return best;
  }
}
