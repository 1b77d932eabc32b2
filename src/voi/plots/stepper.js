"use strict";
const find = (id) => document.getElementById(id);
const PAUSE = 700;  // milliseconds between the steps of a playback
let runs = [], examples = [], example = 0, step = 0, timer = null;

const lastStep = () => Math.max(...examples[example].map((trace) => trace.order.length));

function element(tag, className, text) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
}

// A line break or an empty token would not be seen as it is.
function visible(token) {
  return token === "" ? '""' : token.replace(/[\u0000-\u001f]/g, (c) => JSON.stringify(c).slice(1, -1));
}

// Where gaps of a given text still hold nothing: each just before the given token that follows it.
function openGaps(trace, written) {
  const { given = [], gaps = [] } = trace;
  if (!given.every((position) => written.includes(position))) return [];
  const from = (gap) => given[gap - 1] ?? -1, to = (gap) => given[gap] ?? trace.tokens.length;
  return gaps.filter((gap) => !written.some((place) => place > from(gap) && place < to(gap)))
    .map((gap) => to(gap) - 0.5);
}

function words(trace, shown) {
  const fresh = trace.order[shown - 1];
  const written = trace.order.slice(0, shown);
  const places = [...written, ...openGaps(trace, written)].sort((a, b) => a - b);
  return places.flatMap((position) => {
    if (!Number.isInteger(position)) return [element("span", "gap", "___"), " "];
    const word = element("span", "", visible(trace.tokens[position]));
    if (trace.given?.includes(position)) word.className = "given";
    if (position !== fresh) return [word, " "];
    const mark = element("mark");
    mark.append(word);
    return [mark, " "];
  });
}

const share = (score) => Math.exp(score).toPrecision(2);

function note(trace, shown) {
  const n = trace.order.length;
  if (n === 0) return "Nothing was written.";
  if (shown === 0) return `${n} ${n === 1 ? "token" : "tokens"} to write`;
  let text = `Step ${shown} of ${n}`;
  if (trace.tokenScores) text += ` · p(token) ${share(trace.tokenScores[shown - 1])}`;
  if (trace.slotScores) text += ` · p(slot) ${share(trace.slotScores[shown - 1])}`;
  if (shown === n && trace.score !== null) text += ` · log p ${trace.score.toFixed(2)}`;
  return text;
}

// The image of a source, with a box around each region.
function picture(regions) {
  const frame = element("div", "regions");
  if (regions.image) {
    const image = element("img");
    image.src = regions.image;
    image.alt = "";
    frame.append(image);
  } else frame.classList.add("empty");
  for (const [left, top, right, bottom] of regions.boxes) {
    const box = element("div", "box");
    const share = (value) => `${100 * value}%`;
    Object.assign(box.style, {
      left: share(left), top: share(top), width: share(right - left), height: share(bottom - top),
    });
    frame.append(box);
  }
  return frame;
}

function card(trace, name, number) {
  const section = element("section");
  if (name) {
    const heading = element("h2", "", name);
    heading.id = `run-${number}`;
    section.setAttribute("aria-labelledby", heading.id);
    section.append(heading);
  }
  if (trace.source !== null) {
    const source = element("p", "source", trace.source);
    source.dir = "auto";
    section.append(source);
  }
  if (trace.regions) section.append(picture(trace.regions));
  const sentence = element("p", "sentence");
  sentence.dir = "auto";
  section.append(sentence, element("p", "note"));
  return section;
}

function show() {
  const last = lastStep();
  step = Math.min(Math.max(step, 0), last);
  examples[example].forEach((trace, i) => {
    const section = find("runs").children[i];
    const shown = Math.min(step, trace.order.length);
    const sentence = section.querySelector(".sentence");
    sentence.ariaLive = timer === null ? "polite" : "off";
    sentence.replaceChildren(...words(trace, shown));
    section.querySelector(".note").textContent = note(trace, shown);
    section.querySelectorAll(".box").forEach((box, region) => {
      box.style.opacity = shown ? trace.regions.opacities[shown - 1][region] : 0;
    });
  });
  find("slider").max = String(last);
  find("slider").value = String(step);
  find("count").textContent = `Step ${step} of ${last}`;
  find("previous").disabled = step === 0;
  find("next").disabled = step === last;
  find("play").disabled = last === 0;
  find("play").textContent = timer === null ? "Play" : "Pause";
  find("stepper").dispatchEvent(new Event("step"));
}

function choose(number) {
  example = number;
  find("example").value = String(number);
  find("runs").replaceChildren(...examples[number].map((trace, i) => card(trace, runs[i], i)));
}

function go(to) {
  step = to;
  show();
  history.replaceState(null, "", `#example=${example + 1}&step=${step}`);
}

function pause() {
  clearInterval(timer);
  timer = null;
}

function goPaused(to) {
  pause();
  go(to);
}

function tick() {
  if (step + 1 >= lastStep()) pause();
  go(step + 1);
}

function play() {
  if (timer !== null) return goPaused(step);
  if (lastStep() === 0) return;
  timer = setInterval(tick, PAUSE);
  go(step === lastStep() ? 0 : step);
}

function goWhereTheAddressSays() {
  if (!examples.length) return;  // none are loaded yet
  const place = new URLSearchParams(location.hash.slice(1));
  if (location.hash && !place.has("example") && !place.has("step") && find("runs").children.length)
    return;  // the name of another part of the page
  pause();
  const number = (key, other) => Number.parseInt(place.get(key) ?? "", 10) || other;
  choose(Math.min(Math.max(number("example", 1), 1), examples.length) - 1);
  step = number("step", 0);
  show();
  if (listener !== document && place.has("example")) find("stepper").scrollIntoView();
}

const KEYS = {
  ArrowLeft: () => goPaused(step - 1),
  ArrowRight: () => goPaused(step + 1),
  Home: () => goPaused(0),
  End: () => goPaused(lastStep()),
  " ": play,
};

// On a page that holds more than the stepper, its keys work while it has the focus.
const listener = find("stepper").dataset.keys === "inside" ? find("stepper") : document;
listener.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.altKey || event.metaKey || event.shiftKey) return;
  if (event.target.matches("select, input")) return;
  if (event.key === " " && event.target.matches("button")) return;
  if (!Object.hasOwn(KEYS, event.key)) return;
  event.preventDefault();
  KEYS[event.key]();
});
find("previous").addEventListener("click", () => goPaused(step - 1));
find("next").addEventListener("click", () => goPaused(step + 1));
find("play").addEventListener("click", play);
find("slider").addEventListener("input", (event) => goPaused(Number(event.target.value)));
find("example").addEventListener("change", (event) => {
  choose(Number(event.target.value));
  goPaused(0);
});
addEventListener("hashchange", goWhereTheAddressSays);

// Take these generations instead of the ones before; `choose` then shows one of them.
function load(data) {
  ({ runs, examples } = data);
  find("example").replaceChildren(...examples.map((_, i) => {
    const option = element("option", "", `${i + 1} of ${examples.length}`);
    option.value = String(i);
    return option;
  }));
  find("choice").hidden = examples.length === 1;
}

const embedded = find("data");  // a page without it loads generations later
if (embedded) {
  load(JSON.parse(embedded.textContent));
  goWhereTheAddressSays();
}
