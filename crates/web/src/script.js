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
