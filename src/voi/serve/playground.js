// The page of `voi serve`. Texts of users and models enter the page as text, never as markup.
// From stepper.js: find, element, visible, load, choose, goPaused, play, lastStep, picture, step.
const ORDERS = {
  mode: "The likeliest order under the model's own law of orders; for a fixed order, that order.",
  samples: "Orders drawn from the model's own law; alike ones are counted.",
  beam: "The order with the highest log p(target, order) that a beam search finds under the decoder.",
};
let about = null, records = [], image = null, isTouched = false, numWorks = 0;

const all = (selector) => [...document.querySelectorAll(selector)];
const chosen = (name) => document.querySelector(`input[name=${name}]:checked`).value;
const amount = (id) => Number(find(id).value);
const nats = (score) => score.toFixed(2).replace(/^-0\.00$/, "0.00").replace("-", "\u2212");

async function ask(path, body) {
  const options = body && {
    method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body),
  };
  let response;
  try {
    response = await fetch(path, options);
  } catch {
    throw new Error("the server does not answer: is voi serve still running?");
  }
  const answer = await response.json();
  if (!response.ok) throw new Error(answer.error);
  return answer;
}

// Do some work for a button; what goes wrong is one line on the page. Until all works are done, as a
// request and the preview of an image that is chosen meanwhile, no button begins another.
async function work(button, act) {
  numWorks += 1;
  find("error").hidden = true;
  all("#inputs button").forEach((other) => { other.disabled = true; });
  button.dataset.name ??= button.textContent;
  button.textContent = "Working …";
  try {
    await act();
  } catch (error) {
    find("error").textContent = error.message;
    find("error").hidden = false;
  }
  numWorks -= 1;
  if (numWorks) return;
  all("#inputs button").forEach((other) => {
    other.disabled = false;
    if (other.dataset.name) other.textContent = other.dataset.name;
  });
}

// ---- sources

const source = () => find(about.source === "image" ? "image" : "source").value;

// Suggest texts of the example's target, unless the user has written some.
function suggest(target) {
  find("target").value = target;
  if (isTouched) return;
  const tokens = target.split(" "), kept = Math.max(1, Math.floor(tokens.length / 3));
  const longest = [...new Set(tokens)].sort((a, b) => b.length - a.length);
  find("gaps").value = tokens.length < 2 ? about.gap
    : [...tokens.slice(0, kept), about.gap, ...tokens.slice(Math.max(kept + 1, tokens.length - kept))].join(" ");
  find("prefix").value = tokens.slice(0, Math.ceil(tokens.length / 2)).join(" ");
  find("keywords").value = longest.slice(0, 2).reverse().join("\n");
}

async function preview() {
  image = null;
  find("preview").replaceChildren();
  if (about.source !== "image") return;
  const name = find("image").value;
  const found = await ask(`/api/image?name=${encodeURIComponent(name)}`);
  if (name !== find("image").value) return;  // another one has been chosen meanwhile
  image = found;
  const frame = picture(image);
  [...frame.querySelectorAll(".box")].forEach((box, i) => {
    if (image.labels[i]) box.append(element("span", "", image.labels[i]));
    box.classList.toggle("low", image.boxes[i][1] < 0.1);
    box.classList.toggle("right", image.boxes[i][0] > 0.6);
  });
  find("preview").replaceChildren(frame);
}

function takeExample() {
  const example = about.examples[find("samples").value];
  if (!example) return;
  find(about.source === "image" ? "image" : "source").value = example.source ?? "";
  suggest(example.target);
  return preview();
}

function showSources() {
  find("samples").append(...about.examples.map((example, i) => {
    const text = example.source ?? example.target;
    const option = element("option", "", text.length > 60 ? `${text.slice(0, 59)}…` : text);
    option.value = String(i);
    return option;
  }));
  find("images").append(...about.images.map((name) => {
    const option = element("option");
    option.value = name;
    return option;
  }));
  find("choices").hidden = !about.examples.length;
  find("source-field").hidden = about.source !== "text";
  find("image-field").hidden = about.source !== "image";
  find("source-title").textContent = about.source === "none" ? "No source" : "Source";
  find("no-examples").textContent = about.note;
  find("no-examples").hidden = !about.note;
}

// ---- results

// A record of the API as the stepper takes it; `shown` is the image it describes, if it does.
const traceOf = (record, shown) => ({
  source: null,
  tokens: record.tokens,
  order: record.order,
  score: record.score,
  tokenScores: record.token_scores,
  slotScores: record.slot_scores,
  given: record.given.positions,
  gaps: record.given.gaps,
  regions: shown && record.opacities && { ...shown, opacities: record.opacities },
});

function marked(record) {
  const given = new Set(record.given.positions);
  if (!given.size) return [record.target];
  return record.tokens.flatMap((token, i) => [
    element("span", given.has(i) ? "given" : "", visible(token)), " ",
  ]);
}

function listItem(record, i) {
  const item = element("li"), button = element("button");
  const text = element("span", "text"), n = record.order.length;
  button.type = "button";
  if (record.kind === "generated") text.append(...marked(record));
  else text.append(record.order.map((position) => visible(record.tokens[position])).join(" → "));
  if (!n) text.append(element("i", "", "nothing"));
  let score = `log p ${nats(record.score)}`;
  if (record.count > 1) score = `${record.count} times · ${score}`;
  button.append(text, element("span", "score", score));
  button.addEventListener("click", () => select(i, lastStep));
  item.append(button);
  return item;
}

function scoreCell(score) {
  const cell = element("td", "amount-cell");
  if (score === undefined) return cell;
  const bar = element("span", "bar"), filled = element("span");
  filled.style.width = `${100 * Math.exp(score)}%`;
  bar.ariaHidden = "true";
  bar.append(filled);
  cell.append(element("span", "amount", nats(score)), bar);
  return cell;
}

function stepRow(record, t) {
  const row = element("tr"), n = record.order.length, position = record.order[t];
  const token = element("td", "token");
  if (t === n) token.append(element("i", "", "end"));
  else {
    const isGiven = record.given.positions.includes(position);
    token.append(element("span", isGiven ? "given" : "", visible(record.tokens[position])));
  }
  row.append(
    element("td", "number", t === n ? "" : t + 1),
    token,
    element("td", "number", t === n ? "" : `${record.slots[t] + 1} of ${t + 1}`),
    scoreCell(record.token_scores?.[t]),
    scoreCell(record.slot_scores?.[t]),
  );
  row.addEventListener("click", () => goPaused(Math.min(t + 1, n)));
  return row;
}

// Show one of the results; `first` says at which step.
function select(i, first) {
  const record = records[i];
  [...find("list").children].forEach((item, k) => { item.ariaCurrent = String(k === i); });
  find("table").replaceChildren(
    ...Array.from({ length: record.order.length + 1 }, (_, t) => stepRow(record, t)));
  find("legend").hidden = !record.given.positions.length && !record.given.gaps.length;
  find("legend-gap").hidden = !record.given.gaps.length;
  choose(i);
  goPaused(first());
}

function showRecords(found, title, shown) {
  records = found;
  find("list-title").textContent = title;
  find("list").replaceChildren(...records.map(listItem));
  find("list-panel").hidden = find("steps-panel").hidden = false;
  find("empty").hidden = true;
  load({ runs: [""], examples: records.map((record) => [traceOf(record, shown)]) });
  find("choice").hidden = true;
  select(0, () => records[0].given.num_first);
  if (!matchMedia("(prefers-reduced-motion: reduce)").matches && step < lastStep()) play();
  else goPaused(lastStep());
}

function followStep() {
  [...find("table").children].forEach((row, t) => {
    row.ariaCurrent = t === step - 1 ? "step" : "false";
    row.classList.toggle("later", t >= step && !(step === lastStep()));
  });
}

// Say which words of a scored target the model does not know.
function showUnknown(words) {
  const named = words.map(visible).join(", ");
  find("unknown").textContent = `not in the vocabulary, scored as the unknown token: ${named}`;
  find("unknown").hidden = !words.length;
}

// ---- requests

function rules() {
  const mode = chosen("mode");
  if (mode === "free") return {};
  const text = find(mode).value.trim();
  if (!text) throw new Error("write the text that the target is to obey, or let the target be free");
  if (mode !== "keywords") return { [mode]: text };
  const words = text.split("\n").map((word) => word.trim()).filter(Boolean);
  return { keywords: words, keywords_in_order: find("in-order").checked };
}

function method() {
  if (chosen("method") === "sample") {
    return {
      samples: amount("samples-drawn"), temperature: amount("temperature"),
      top_p: amount("top_p"), seed: amount("seed"),
    };
  }
  return {
    beam: amount("beam"), nbest: Math.min(amount("nbest"), amount("beam")),
    length_penalty: amount("length_penalty"), merge: find("merge").checked,
  };
}

async function write() {
  const body = { source: source(), max_length: amount("max_length"), ...method(), ...rules() };
  const shown = image;  // another one may be chosen meanwhile
  const { hypotheses } = await ask("/api/generate", body);
  if (!hypotheses.length) throw new Error("nothing was found: widen the beam or allow more tokens");
  find("likelihood").hidden = true;
  showUnknown([]);
  showRecords(hypotheses, body.samples ? "Samples" : "Best targets", shown);
}

async function infer() {
  const body = {
    source: source(), target: find("target").value, by: chosen("by"), beam: amount("order-beam"),
    samples: amount("order-samples"), seed: amount("order-seed"),
  };
  const titles = { mode: "Likeliest order", samples: "Sampled orders", beam: "Searched order" };
  const shown = image;
  const { orders, unknown } = await ask("/api/order", body);
  showUnknown(unknown);
  showRecords(orders, titles[body.by], shown);
}

async function bound() {
  const target = find("target").value;
  const found = await ask("/api/likelihood", { source: source(), target, samples: amount("bound-samples") });
  const error = found.standard_error === null ? "" : ` ± ${found.standard_error.toFixed(2)}`;
  const lines = [
    ["exact, over all orders", found.exact],
    [`bound from ${found.num_samples} orders`, found.bound, error],
    ["evidence lower bound", found.elbo],
    [`per token (${found.num_tokens} and the end)`, (found.exact ?? found.bound) / (found.num_tokens + 1)],
  ];
  find("bounds").replaceChildren(...lines.filter(([, value]) => value !== null).flatMap(
    ([name, value, more = ""]) => [element("dt", "", name), element("dd", "", `${nats(value)}${more} nats`)]));
  showUnknown(found.unknown);
  find("likelihood-target").textContent = target;
  find("likelihood").hidden = false;
  find("empty").hidden = true;
}

// ---- the page

function showChoices() {
  const mode = chosen("mode"), by = chosen("by");
  all("[data-mode]").forEach((part) => { part.hidden = part.dataset.mode !== mode; });
  all("[data-by]").forEach((part) => { part.hidden = part.dataset.by !== by; });
  all("[data-method]").forEach((part) => { part.hidden = part.dataset.method !== chosen("method"); });
  // A field that is not shown must not keep a form from being sent.
  all("form input").forEach((input) => { input.disabled = Boolean(input.closest("[hidden]:not(form)")); });
  all("#modes input").forEach((input) => {
    input.disabled = !about.inserts && ["gaps", "keywords"].includes(input.value);
  });
  find("by-note").textContent = ORDERS[by];
}

function openTab(name) {
  for (const other of ["write", "known"]) {
    find(other).hidden = other !== name;
    find(`tab-${other}`).ariaSelected = String(other === name);
    find(`tab-${other}`).tabIndex = other === name ? 0 : -1;
  }
}

function makeGap() {
  const box = find("gaps"), { selectionStart: start, selectionEnd: end, value } = box;
  const left = value.slice(0, start).trimEnd(), right = value.slice(end).trimStart();
  box.value = [left, about.gap, right].filter(Boolean).join(" ");
  box.focus();
  box.selectionStart = box.selectionEnd = (left ? left.length + 1 : 0) + about.gap.length;
  isTouched = true;
}

function showAbout() {
  const { run, task, order, num_weights: size, vocabulary_size: words } = about;
  const counts = `${size.toLocaleString("en")} weights · ${words.toLocaleString("en")} tokens`;
  find("about").textContent = `${run} · task ${task} · order ${order} · ${counts}`;
  document.title = `${run} · voi playground`;
  for (const name of ["beam", "length_penalty", "max_length"]) find(name).value = about.defaults[name];
  find("beam").value = Math.min(Math.max(amount("beam"), 5), about.limits.beam);
  find("nbest").value = find("beam").value;
  find("no-inserts").hidden = about.inserts;
  const most = {
    beam: "beam", nbest: "beam", "order-beam": "beam", "samples-drawn": "samples",
    "order-samples": "samples", "bound-samples": "likelihood_samples", max_length: "max_length",
  };
  for (const [id, limit] of Object.entries(most)) find(id).max = about.limits[limit];
}

function listen() {
  find("samples").addEventListener("change", () => work(find("generate"), takeExample));
  find("image").addEventListener("change", () => work(find("generate"), preview));
  for (const name of ["write", "known"]) {
    find(`tab-${name}`).addEventListener("click", () => openTab(name));
    find(`tab-${name}`).addEventListener("keydown", (event) => {
      if (!["ArrowLeft", "ArrowRight"].includes(event.key)) return;
      const other = name === "write" ? "known" : "write";
      openTab(other);
      find(`tab-${other}`).focus();
    });
    find(name).addEventListener("change", showChoices);
  }
  const submit = (form, button, act) => find(form).addEventListener("submit", (event) => {
    event.preventDefault();
    if (!numWorks) work(find(button), act);
  });
  submit("write", "generate", write);
  submit("known", "infer", infer);
  find("bound").addEventListener("click", () => find("known").reportValidity() && work(find("bound"), bound));
  find("make-gap").addEventListener("click", makeGap);
  for (const name of ["gaps", "prefix", "keywords"])
    find(name).addEventListener("input", () => { isTouched = true; });
  all("textarea").forEach((box) => box.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey))
      (find("known").hidden ? find("write") : find("known")).requestSubmit();
  }));
  find("stepper").addEventListener("step", followStep);
}

async function start() {
  about = await ask("/api/about");
  showAbout();
  showSources();
  showChoices();
  openTab("write");
  listen();
  await takeExample();
}

await work(find("generate"), start);
