// Shows times in the reader's zone. Every page is whole without this script.
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
