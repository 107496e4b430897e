// Shows times in the reader's zone, and events as they happen. Every page is whole without it.
"use strict";

const language = document.documentElement.lang || "en";
const moment = new Intl.DateTimeFormat(language, {
  year: "numeric", month: "2-digit", day: "2-digit",
  hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23",
});

function localise(root) {
  for (const element of root.querySelectorAll("time[datetime]")) {
    const date = new Date(element.dateTime);
    if (Number.isNaN(date.getTime())) continue;
    element.title = element.dateTime;
    element.textContent = moment.format(date);
  }
}

localise(document);

const SHOWN = 15;

function cell(name, text) {
  const element = document.createElement(name);
  element.textContent = text;
  return element;
}

function show(list, event) {
  const item = document.createElement("li");
  const time = document.createElement("time");
  time.dateTime = new Date(event.at).toISOString();
  item.append(cell("code", event.kind), cell("span", event.chain || ""),
    cell("span", JSON.stringify(event.data)), time);
  localise(item);
  list.prepend(item);
  while (list.children.length > SHOWN) list.lastElementChild.remove();
}

// The server says where to go on, so nothing is missed between the page and the stream.
for (const list of document.querySelectorAll("[data-after]")) {
  const source = new EventSource("/api/events?after=" + encodeURIComponent(list.dataset.after));
  source.onmessage = (message) => {
    if (!message.data) return;
    document.querySelector("#nothing")?.remove();
    show(list, JSON.parse(message.data));
  };
  addEventListener("pagehide", () => source.close());
}

// Parts that show things as they are now: when the event comes that they name, the page is fetched
// again and the part with the same name takes their place. Whoever has the keyboard in it is not
// disturbed.
const PAUSE = 1000;
const rest = () => new Promise((done) => setTimeout(done, PAUSE));
const atEnd = (box) => box.scrollLeft + box.clientWidth >= box.scrollWidth - 4;

function replace(part, fresh) {
  const boxes = (root) => [...root.querySelectorAll(".scroll")];
  const places = boxes(part).map((box) => atEnd(box) ? Infinity : box.scrollLeft);
  const open = [...part.querySelectorAll("details")].map((one) => one.open);
  [...fresh.querySelectorAll("details")].forEach((one, index) => { one.open = open[index] ?? false; });
  localise(fresh);
  part.replaceWith(fresh);
  boxes(fresh).forEach((box, index) => {
    const place = places[index] ?? 0;
    box.scrollLeft = place === Infinity && box.querySelector("svg") ? box.scrollWidth : place;
  });
}

function follow(parts) {
  const names = parts.map((part) => part.id);
  const { live, chain, behind } = parts[0].dataset;
  const wanted = new URLSearchParams({ kind: live, after: behind });
  if (chain) wanted.set("chain", chain);
  const source = new EventSource("/api/events?" + wanted);
  const gone = new AbortController();
  let due = false;
  let busy = false;
  const renew = async () => {
    if (busy) return;
    busy = true;
    while (due && !gone.signal.aborted) {
      const known = names.map((name) => document.getElementById(name));
      const held = known.some((part) => part?.contains(document.activeElement));
      if (!held && !document.hidden) {
        due = false;
        try {
          const answer = await fetch(location.href, { signal: gone.signal });
          const page = new DOMParser().parseFromString(await answer.text(), "text/html");
          for (const part of known) {
            const fresh = page.getElementById(part?.id);
            if (part && fresh) replace(part, document.importNode(fresh, true));
          }
        } catch { /* The server is away; the stream comes back when it does. */ }
      }
      await rest();
    }
    busy = false;
  };
  source.onmessage = (message) => {
    if (!message.data) return;
    due = true;
    renew();
  };
  addEventListener("pagehide", () => { source.close(); gone.abort(); });
}

// What is newest stands at the right end.
for (const graph of document.querySelectorAll(".scroll > svg")) {
  graph.parentElement.scrollLeft = graph.parentElement.scrollWidth;
}
const living = [...document.querySelectorAll("[data-live]")];
if (living.length > 0) follow(living);
