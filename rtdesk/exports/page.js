// Draws a recording: `place` is a tick's number in the list and how much of that tick has gone by, as 12.4.
// Text only ever becomes text nodes. No library, no network, no storage.
"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const ticks = data.ticks, last = ticks.length - 1;
  const SVG = "http://www.w3.org/2000/svg";
  const SPEEDS = [0.1, 0.25, 0.5, 1, 2, 4, 8, 16];
  const TAIL = 3600;

  const make = (name, attributes = {}, ...children) => {
    const node = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
    node.append(...children);
    return node;
  };
  const shape = (name, attributes, ...children) => {
    const node = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
    node.append(...children);
    return node;
  };
  const colour = (word) => `var(--${word})`;
  const number = (value) => Math.round(value).toLocaleString("en-US");
  const figure = (value) => Number.isInteger(value) ? String(value) : value.toFixed(2);

  // The page.

  const heading = (voice, title) => {
    const note = make("span", { class: "dim" }), count = make("span", { class: "dim" });
    return { node: make("h2", { class: voice }, make("b", {}, title), note, make("span", { class: "line" }), count), note, count };
  };
  const pane = (voice) => {
    const head = heading(voice, data.whose + voice), pins = make("div", { class: `pins ${voice}` }), tail = make("div", { class: "tail", tabindex: "0", role: "log", "aria-live": "off", "aria-label": `${voice}'s text` });
    return { node: make("section", { class: `pane ${voice}-pane` }, head.node, pins, tail), head, pins, tail };
  };
  const clock = make("span", { class: "clock" }), decided = make("div", { class: "decided" }), facts = make("p", { class: "facts" }), events = make("ol", { class: "events" });
  const board = shape("svg", { id: "board", role: "img", "aria-label": `the board of ${data.game}` });
  const planner = pane("planner"), reactor = pane("reactor");
  const meterHead = heading("", "this tick"), meter = shape("svg", { viewBox: "0 0 1000 24", preserveAspectRatio: "none", height: "24" }), meterLeft = make("span"), meterRight = make("span");
  const past = shape("svg", { viewBox: "0 0 1000 74", preserveAspectRatio: "none", height: "74", role: "img", "aria-label": "score, events and who acted, tick by tick" });
  const slider = make("input", { type: "range", min: "0", max: String(last + 1), step: "any", "aria-label": "tick" });
  const playButton = make("button", { type: "button", "aria-label": "play or pause" }, "▶"), speedButton = make("button", { type: "button", "aria-label": "speed" }, "1×"), themeButton = make("button", { type: "button", "aria-label": "dark or light" }, "◐");
  const desk = document.getElementById("desk");
  const boardHead = heading("", data.game);
  desk.append(
    make("header", {}, make("span", { class: "brand" }, "rtdesk"), make("b", {}, data.game), make("span", { class: "dim" }, `${data.load} · seed ${data.seed}`), make("b", {}, data.agent), make("span", { class: "dim" }, data.thinkers), clock),
    make("div", { class: "top" },
      make("section", {}, boardHead.node, board, decided, facts, events),
      make("div", {}, ...(data.planner ? [planner.node] : []), ...(data.reactor ? [reactor.node] : []))),
    make("section", { class: "meter" }, meterHead.node, meter, make("div", { class: "label" }, meterLeft, meterRight)),
    make("section", { class: "past" }, past),
    make("div", { class: "controls" }, playButton, slider, speedButton, themeButton),
    make("footer", {}, make("span", { class: "keys" })));
  const keys = desk.querySelector(".keys");
  [["space", "play"], ["← →", "tick"], ["shift ← →", "inside a tick"], ["page", "ten ticks"], ["n p", "next, previous event"], ["+ −", "speed"], ["t", "dark or light"]].forEach(([key, what]) => keys.append(make("span", {}, make("kbd", {}, key), ` ${what}`)));
  desk.hidden = false;
  // Where a run has one thinker, it has the room of both.
  if (!data.planner) reactor.tail.style.height = "27em";
  if (!data.reactor) planner.tail.style.height = "27em";

  // The board. Cells are 40 units; y grows up in a game and down on a screen.

  const C = 40;
  const corner = (x, y) => [x * C, (data.rows - 1 - y) * C];
  const STEP = { L: [-1, 0], R: [1, 0], U: [0, -1], D: [0, 1] };
  const ROLE = { wall: "wall", floor: "faint", player: "player", partner: "partner", hazard: "hazard", goal: "goal", item: "item", tool: "tool" };
  // Room for coordinates at the left and below: thinkers name cells by them.
  board.setAttribute("viewBox", `-22 0 ${Math.max(1, data.columns) * C + 22} ${Math.max(1, data.rows) * C + 22}`);
  const ground = shape("g", {}), moving = shape("g", {});
  board.append(ground, moving);
  for (let y = 0; y < data.rows; y++) for (let x = 0; x < data.columns; x++) {
    const [left, top] = corner(x, y);
    ground.append(shape("rect", { x: left, y: top, width: C, height: C, fill: colour((x + y) % 2 ? "check" : "road") }));
  }
  const axis = (x, y, text) => shape("text", { x, y, fill: colour("faint"), "font-size": 13, "text-anchor": "middle" }, String(text));
  for (let y = 0; y < data.rows; y++) ground.append(axis(-12, corner(0, y)[1] + C / 2 + 5, y));
  for (let x = 0; x < data.columns; x++) ground.append(axis(x * C + C / 2, data.rows * C + 17, x));
  const letters = (x, y, text, fill, size = 17) => shape("text", { x, y: y + size * 0.36, fill, "font-size": size, "font-weight": 700, "text-anchor": "middle" }, text);
  const pointer = (x, y, facing, fill, reach) => {
    const [dx, dy] = STEP[facing] || [0, 0];
    const points = [[dx, dy], [-dx * 0.5 - dy * 0.8, -dy * 0.5 - dx * 0.8], [-dx * 0.5 + dy * 0.8, -dy * 0.5 + dx * 0.8]].map(([a, b]) => `${x + a * reach},${y + b * reach}`).join(" ");
    return shape("polygon", { points, fill, "stroke-linejoin": "round", stroke: fill, "stroke-width": 2 });
  };
  const drawEntity = (into, [kind, x, y, glyph, role, text, facing, links, length], tube) => {
    const [left, top] = corner(x, y), cx = left + C / 2, cy = top + C / 2;
    const fill = colour(ROLE[role] || "text");
    if (kind === "body" || kind === "head") {
      for (const link of links) {
        const [dx, dy] = STEP[link];
        into.append(shape("line", { x1: cx, y1: cy, x2: cx + dx * C / 2, y2: cy + dy * C / 2, stroke: tube, "stroke-width": C * 0.5 }));
      }
      if (kind === "body") { into.append(shape("circle", { cx, cy, r: C * 0.25, fill: tube })); return; }
      into.append(shape("rect", { x: left + 3, y: top + 3, width: C - 6, height: C - 6, rx: 12, fill: colour("head") }));
      const [dx, dy] = STEP[facing] || [0, 0];
      for (const side of [-1, 1]) into.append(shape("circle", { cx: cx + dx * 8 + dy * side * 7, cy: cy + dy * 8 + dx * side * 7, r: 3.4, fill: colour("ink") }));
    } else if (role === "wall") {
      into.append(shape("rect", { x: left, y: top, width: C, height: C, fill }));
    } else if (role === "floor") {
      return;
    } else if (role === "hazard" && (facing === "L" || facing === "R")) {
      const step = facing === "L" ? 1 : -1, far = corner(x + (length - 1) * step, y)[0], from = Math.min(left, far);
      into.append(shape("rect", { x: from + 2, y: top + 6, width: length * C - 4, height: C - 12, rx: 9, fill }));
      into.append(pointer(facing === "L" ? left + 11 : left + C - 11, cy, facing, colour("ink"), 5));
      if (text) into.append(letters(from + (length * C) / 2 + step * 6, cy, text, colour("ink"), length > 1 || text.length < 3 ? 14 : 11));
    } else if (role === "hazard" || role === "tool") {
      into.append(shape("rect", { x: left + 1, y: top + 1, width: C - 2, height: C - 2, rx: 4, fill: colour(role === "tool" ? "tool" : "block") }));
      if (role === "tool") into.append(letters(cx, cy, glyph + text, colour("bright"), 16));
    } else if (role === "goal") {
      into.append(shape("circle", { cx, cy, r: C * 0.38, fill }), letters(cx, cy, text || glyph, colour("ink")));
    } else if (role === "player" || role === "partner") {
      into.append(shape("rect", { x: left + 4, y: top + 4, width: C - 8, height: C - 8, rx: 10, fill }));
      if (STEP[facing]) into.append(pointer(cx - (text ? 7 : 0), cy, facing, colour("ink"), 8));
      // What a hand holds is told in full below the board.
      if (text || !STEP[facing]) into.append(letters(cx + (STEP[facing] ? 9 : 0), cy, text.slice(0, 1) || glyph, colour("ink"), 15));
    } else {
      into.append(letters(cx, cy, glyph + text, fill, 16));
    }
  };
  data.ground.forEach((one) => drawEntity(ground, one, ""));

  const drawBoard = (tick, share) => {
    moving.replaceChildren();
    const meant = shape("g", {});
    tick.path.forEach(([x, y], i) => {
      const [left, top] = corner(x, y), size = i ? 7 : 9;
      const spot = { x: left + C / 2 - size, y: top + C / 2 - size, width: 2 * size, height: 2 * size, transform: `rotate(45 ${left + C / 2} ${top + C / 2})`, opacity: Math.max(0.35, 1 - i * 0.07) };
      meant.append(shape("rect", tick.holds === false ? { ...spot, fill: "none", stroke: colour("planner"), "stroke-width": 2.5, "stroke-dasharray": "4 3" } : { ...spot, fill: colour("planner") }));
    });
    const bodies = tick.e.filter((one) => one[0] === "body").length;
    let seen = 0;
    const ground = tick.e.filter((one) => ["wall", "floor", "tool"].includes(one[4])), others = tick.e.filter((one) => !["wall", "floor", "tool"].includes(one[4]));
    ground.forEach((one) => drawEntity(moving, one, ""));
    moving.append(meant);
    for (const one of others) {
      if (one[0] === "body") seen++;
      const near = bodies ? Math.round((100 * seen) / bodies) : 100;
      drawEntity(moving, one, `color-mix(in srgb, var(--body) ${near}%, var(--tail))`);
    }
    if (tick.arrow && tick.said !== null && share >= tick.said) {
      const [x, y, letter, voice] = tick.arrow, [left, top] = corner(x, y);
      moving.append(pointer(left + C / 2, top + C / 2, letter, colour(voice), 12));
    }
  };

  // The streams.

  const chip = (voice, text) => make("span", { class: `chip ${voice}` }, text);
  const pin = (word, voice, ...parts) => make("div", {}, make("b", { class: voice }, word), ...parts);

  const spoken = (place, share, name) => {
    // From the end backwards until the pane is full: [text, class] newest first.
    const out = [];
    let length = 0, generation = null;
    for (let i = place; i >= 0 && length < TAIL; i--) {
      const stream = ticks[i][name];
      for (let j = stream.runs.length - 1; j >= 0 && length < TAIL; j--) {
        const [first, upto, text, channel, of] = stream.runs[j];
        let shown = text;
        if (i === place) {
          if (share <= first) continue;
          shown = share >= upto || upto <= first ? text : text.slice(0, Math.floor((text.length * (share - first)) / (upto - first)));
        }
        if (!shown) continue;
        if (generation !== null && of !== generation) out.push(["\n", ""]);
        generation = of;
        const class_ = i < place && of !== ticks[place][name].generation ? "old" : channel;
        out.push([shown, class_]);
        length += shown.length;
      }
      if (stream.dropped && length < TAIL) { out.push([`[${number(stream.dropped)} characters of turn ${ticks[i].t} left out]\n`, "mark"]); length += 40; }
      if (name === "reactor" && i < place && length) break;
    }
    return out.reverse();
  };
  const drawTail = (box, place, share, name) => {
    const follows = box.scrollTop + box.clientHeight >= box.scrollHeight - 24;
    box.replaceChildren(...spoken(place, share, name).map(([text, class_]) => (class_ ? make("span", { class: class_ }, text) : document.createTextNode(text))), make("span", { class: "caret" }));
    if (follows) box.scrollTop = box.scrollHeight;
  };
  const drawPlanner = (tick, place, share) => {
    const stream = tick.planner, behind = tick.t - stream.generation;
    const idle = stream.end && (!stream.runs.length || share >= stream.runs[stream.runs.length - 1][1]);
    planner.head.note.textContent = stream.generation < 0 ? "waiting" : idle ? `done with turn ${stream.generation}, idle until the next tick` : behind > 0 ? `thinks about turn ${stream.generation}, now ${tick.t}: ${behind} behind` : `thinks about turn ${stream.generation}, the one now running`;
    planner.head.count.textContent = `${number(stream.tokens)} tok`;
    const line = make("span");
    if (!tick.best.length) line.append(make("span", { class: "dim" }, "no line yet"));
    else {
      line.append(make("span", { class: tick.holds === false ? "dim" : "planner" }, tick.holds === false ? "◇ stale  " : "◆ "));
      tick.best.forEach(([turn, letter, cell], i) => {
        const where = cell && !cell.startsWith("(") ? ` ${cell}` : cell;
        line.append(make("span", { class: "turn" }, `${turn} `), i ? letter + where : make("b", {}, letter + where), "  ");
      });
      line.append(make("span", { class: "dim" }, tick.note));
    }
    planner.pins.replaceChildren(pin("best", "planner", line), pin("goal", "planner", tick.goal || make("span", { class: "dim" }, "none named yet")), pin("warn", tick.warn.length ? "planner" : "dim", tick.warn[0] || make("span", { class: "dim" }, "nothing"), make("span", { class: "dim" }, tick.warn.length > 1 ? `  (+${tick.warn.length - 1})` : "")));
    drawTail(planner.tail, place, share, "planner");
  };
  const drawReactor = (tick, place, share) => {
    const awake = tick.wake === null || share >= tick.wake, answered = tick.said !== null && share >= tick.said;
    reactor.head.note.textContent = answered ? `answered after ${number(tick.reactor.tick)} tokens` : awake ? `awake, thinks about turn ${tick.t}` : "asleep until its window";
    reactor.head.count.textContent = answered ? `${number(tick.reactor.tick)} tok` : "";
    const [letter, reason, agrees] = answered && tick.answer ? tick.answer : ["", "", null];
    const note = letter ? ({ true: "plan agrees", false: "not the plan's" }[agrees] || "no plan line") : answered ? "" : awake ? "…" : "not yet";
    reactor.pins.replaceChildren(pin("answer", "reactor", ...(letter ? [chip("reactor", letter)] : []), make("span", { class: letter ? "" : "dim" }, note), make("span", { class: answered && !letter ? "default" : "dim" }, reason ? `   ${reason}` : "")));
    drawTail(reactor.tail, place, share, "reactor");
  };

  // Who decided, the meter, and what has been.

  const drawFacts = (tick, place, share) => {
    const answered = tick.said !== null && share >= tick.said && tick.answer && tick.answer[0];
    const acted = place > 0 ? ticks[place - 1].act : null;
    if (share >= 1 && tick.act) decided.replaceChildren(...said(tick.act, "applied"));
    else if (answered) decided.replaceChildren(chip("reactor", tick.answer[0]), make("b", { class: "reactor" }, "reactor"), make("span", { class: "dim" }, { true: "  plan agrees", false: "  not the plan's" }[tick.answer[2]] || "  no plan line"));
    else if (acted) decided.replaceChildren(...said(acted, "last turn"));
    else decided.replaceChildren(make("span", { class: "dim" }, "nobody has acted yet"));
    const beside = share >= 1 ? tick.beside : place > 0 ? ticks[place - 1].beside : null;
    if (beside) decided.append(make("span", {}, "   "), chip(beside[2], beside[1]), make("b", { class: beside[2] }, beside[0]));
    const score = share >= 1 ? tick.score : tick.before;
    const defaults = ticks.slice(0, place).filter((one) => one.act && one.act[1] === "default").length;
    facts.replaceChildren(...[["score", figure(score)], ["defaults", defaults], ...tick.status].flatMap(([word, value]) => [make("span", {}, `${word} `, make("b", { class: word === "defaults" && value ? "default" : "" }, String(value)))]));
    const shown = [];
    for (let i = place - (share >= 1 ? 0 : 1); i >= 0 && shown.length < 5; i--) for (const [, text, voice] of [...ticks[i].notes].reverse()) shown.push(make("li", { class: voice }, make("span", {}, String(ticks[i].t)), text));
    events.replaceChildren(...shown.slice(0, 5).reverse());
  };
  const said = ([letter, source, voice, reason, agrees], when) => [chip(voice, letter), make("b", { class: voice }, source === "human" ? "person" : source), make("span", { class: "dim" }, ` ${reason || { true: "plan agreed", false: "not the plan's" }[agrees] || ""}  · ${when}`)];

  const drawMeter = (tick, share) => {
    const wake = data.reactor ? (tick.wake === null ? 0 : tick.wake) : 1, W = 1000;
    meter.replaceChildren(
      shape("rect", { x: 0, y: 11, width: W, height: 1.5, fill: colour("rule") }),
      shape("rect", { x: share * W, y: 3, width: Math.max(0, (wake - share) * W), height: 18, fill: colour("planner") }),
      shape("rect", { x: Math.max(share, wake) * W, y: 3, width: Math.max(0, 1 - Math.max(share, wake)) * W, height: 18, fill: colour("reactor"), opacity: 0.55 }),
      ...[tick.wake, tick.said].filter((at) => at !== null && at <= share).map((at) => shape("rect", { x: at * W - 1, y: 0, width: 2, height: 24, fill: colour("reactor") })));
    const left = share > 0.999 ? 0 : (1 - share) * (data.budget || 0);
    meterLeft.replaceChildren(make("b", {}, data.unit === "s" ? left.toFixed(2) : number(left)), make("span", { class: "dim" }, ` of ${data.unit === "s" ? data.budget : number(data.budget || 0)} ${data.unit === "s" ? "s" : "tokens"} left`));
    const acted = tick.said !== null && share >= tick.said && tick.answer;
    const none = share >= 1 && tick.act && tick.act[1] === "default";
    meterRight.className = none ? "default" : acted ? "reactor" : "dim";
    meterRight.textContent = none ? `no answer in time: default ${tick.act[0]}, ${tick.act[3]}` : acted ? (tick.answer[0] ? `answers ${tick.answer[0]}` : "no answer") : data.reactor ? (tick.wake !== null && share >= tick.wake ? "reactor woke" : "reactor asleep") : "";
  };

  const SIGN = { score: "goal", died: "default", reset: "default", default: "default", late: "default", fault: "default", bookmark: "person", stale: "faint" };
  const cursor = shape("rect", { y: 0, width: 2.5, height: 74, fill: colour("bright") });
  const drawPast = () => {
    const wide = 1000 / (last + 1), scores = [ticks[0].before, ...ticks.map((one) => one.score)], low = scores.reduce((a, b) => Math.min(a, b)), high = Math.max(low + 1, scores.reduce((a, b) => Math.max(a, b)));
    const level = (score) => 34 - ((score - low) / (high - low)) * 30;
    let line = `M0 ${level(ticks[0].before)}`;
    ticks.forEach((one, i) => { line += `H${(i + 1) * wide}V${level(one.score)}`; });
    past.append(shape("path", { d: `${line}V36H0Z`, fill: colour("plot"), opacity: 0.25 }), shape("path", { d: line, fill: "none", stroke: colour("plot"), "stroke-width": 2, "vector-effect": "non-scaling-stroke" }));
    ticks.forEach((one, i) => {
      const voice = one.act ? one.act[2] || "dim" : "rule", alarm = one.act && one.act[1] === "default";
      past.append(shape("rect", { x: i * wide + wide * 0.06, y: alarm ? 62 : 64, width: wide * 0.88, height: alarm ? 12 : 8, fill: colour(voice) }));
      const sign = SIGN[one.mark];
      if (sign) past.append(shape("path", { d: `M${(i + 0.5) * wide} 49h.01`, stroke: colour(sign), "stroke-width": one.mark === "score" ? 9 : 12, "stroke-linecap": one.mark === "score" ? "round" : "square", "vector-effect": "non-scaling-stroke" }, shape("title", {}, `${one.t}: ${one.notes.map((note) => note[1]).join("; ") || one.mark}`)));
    });
    past.append(cursor);
  };

  // Moving about.

  let at = 0, speed = SPEEDS.indexOf(1), playing = false, then = 0;
  const show = () => {
    const place = Math.min(last, Math.floor(at)), share = Math.min(1, at - place), tick = ticks[place];
    drawBoard(tick, share);
    drawFacts(tick, place, share);
    if (data.planner) drawPlanner(tick, place, share);
    if (data.reactor) drawReactor(tick, place, share);
    drawMeter(tick, share);
    cursor.setAttribute("x", Math.max(0, (at / (last + 1)) * 1000 - 1.2));
    clock.replaceChildren(make("span", { class: "dim" }, "tick "), make("b", {}, String(tick.t)), make("span", { class: "dim" }, ` of ${ticks[last].t}${share >= 1 && place === last && data.ended ? `, ended: ${data.ended}` : ""}`));
    slider.value = String(at);
    slider.setAttribute("aria-valuetext", `tick ${tick.t}, ${Math.round(share * 100)} percent`);
    playButton.textContent = playing ? "❚❚" : "▶";
    speedButton.textContent = `${SPEEDS[speed]}×`;
  };
  const go = (to) => { at = Math.min(last + 1, Math.max(0, to)); show(); };
  // Paused, one stands where everything of the tick is said; going back from there leads to the end of the tick before.
  const rest = (place) => go(Math.min(last, Math.max(0, place)) + 0.9999);
  const here = () => Math.min(last, Math.floor(at));
  const stop = () => { playing = false; };
  const play = (on) => {
    if (on && at >= last + 0.9999) at = 0;
    playing = on;
    then = performance.now();
    if (on) requestAnimationFrame(frame);
    show();
  };
  const frame = (now) => {
    if (!playing) return;
    // A page that was hidden does not make up for it.
    at += (Math.min(250, Math.max(0, now - then)) / 1000) * SPEEDS[speed];
    then = now;
    if (at >= last + 1) { at = last + 1; playing = false; }
    show();
    if (playing) requestAnimationFrame(frame);
  };
  const event = (step) => {
    for (let i = here() + step; i >= 0 && i <= last; i += step) if (ticks[i].mark && ticks[i].mark !== "cap") return rest(i);
    return rest(step > 0 ? last : 0);
  };
  const faster = (step) => { speed = Math.min(SPEEDS.length - 1, Math.max(0, speed + step)); show(); };
  const theme = () => {
    const root = document.documentElement, light = root.dataset.theme ? root.dataset.theme === "light" : matchMedia("(prefers-color-scheme: light)").matches;
    root.dataset.theme = light ? "dark" : "light";
  };
  playButton.addEventListener("click", () => play(!playing));
  speedButton.addEventListener("click", () => { speed = (speed + 1) % SPEEDS.length; show(); });
  themeButton.addEventListener("click", theme);
  slider.addEventListener("input", () => { stop(); go(Number(slider.value)); });
  const point = (event) => { const box = past.getBoundingClientRect(); stop(); rest(Math.floor(((event.clientX - box.left) / box.width) * (last + 1))); };
  past.addEventListener("pointerdown", (event) => { past.setPointerCapture(event.pointerId); point(event); });
  past.addEventListener("pointermove", (event) => { if (event.buttons) point(event); });
  addEventListener("keydown", (pressed) => {
    if (pressed.ctrlKey || pressed.metaKey || pressed.altKey) return;
    const small = pressed.shiftKey;
    const actions = {
      " ": () => play(!playing),
      ArrowRight: () => { stop(); small ? go(at + 0.05) : rest(at >= here() + 0.99 ? here() + 1 : here()); },
      ArrowLeft: () => { stop(); small ? go(at - 0.05) : rest(here() - 1); },
      PageDown: () => { stop(); rest(here() + 10); },
      PageUp: () => { stop(); rest(here() - 10); },
      Home: () => { stop(); go(0); },
      End: () => { stop(); go(last + 1); },
      n: () => { stop(); event(1); },
      p: () => { stop(); event(-1); },
      "+": () => faster(1), "=": () => faster(1), "-": () => faster(-1),
      t: theme,
    };
    const action = actions[pressed.key];
    if (!action || (pressed.key === " " && pressed.target instanceof HTMLButtonElement)) return;
    pressed.preventDefault();
    action();
  });
  const linked = /^#t=(\d+)$/.exec(location.hash);
  drawPast();
  if (linked) rest(Math.max(0, ticks.findIndex((one) => one.t >= Number(linked[1])))); else rest(0);
})();
