// Watches one page: what its console says, what it asks for, how it fits, what axe-core finds.
import { readFileSync } from "node:fs";
import { join } from "node:path";

const axe = readFileSync(join(process.env.PACKAGES, "node_modules/axe-core/axe.min.js"), "utf8");

/** One line of the report. */
export function say(line) {
  process.stdout.write(JSON.stringify(line) + "\n");
}

/** What was seen on a page. */
class Seen {
  constructor(where) {
    this.where = where;
    this.expected = new Map();
    this.leaving = false;
    // How many pages were asked for so far.
    this.pages = 0;
    // Addresses that the browser itself no longer wanted while the page was open.
    this.unwanted = [];
  }

  /** A request to this address is answered with this status; all others with 200. */
  expect(url, status) {
    this.expected.set(url, status);
  }

  find(kind, detail) {
    say({ finding: kind, where: this.where, detail });
  }

  /** Chromium itself writes a line for a refusal that was meant to be one. */
  foreseen(text, url) {
    const status = this.expected.get(url);
    return status >= 400 && text.startsWith("Failed to load resource:") && text.includes(`${status}`);
  }
}

/** Does `work` on a new page, and finds everything that is not right meanwhile. */
export async function watched(context, where, work) {
  const page = await context.newPage();
  const seen = new Seen(where);
  page.on("console", (message) => {
    const type = message.type();
    if (type !== "error" && type !== "warning") return;
    if (!seen.foreseen(message.text(), message.location().url)) {
      seen.find("console", `${type}: ${message.text()} (${message.location().url})`);
    }
  });
  page.on("pageerror", (error) => seen.find("script", String(error)));
  const begun = new WeakMap();
  page.on("request", (request) => {
    if (request.isNavigationRequest()) seen.pages += 1;
    begun.set(request, seen.pages);
  });
  page.on("requestfailed", (request) => {
    // What was still under way when its page was left, here or by a link, is no failure of the page.
    const left = seen.leaving || begun.get(request) < seen.pages;
    const aborted = request.failure()?.errorText === "net::ERR_ABORTED";
    if (aborted && left) return;
    // A browser drops an icon when it learns of the same one again; only the address can be at
    // fault then, so it is asked by itself before the page is closed.
    if (aborted && request.method() === "GET" && !request.isNavigationRequest()) {
      seen.unwanted.push(request.url());
      return;
    }
    seen.find("request", `${request.method()} ${request.url()}: ${request.failure()?.errorText}`);
  });
  page.on("response", (response) => {
    const expected = seen.expected.get(response.url()) ?? 200;
    const fine = response.status() === expected || [303, 304].includes(response.status());
    if (!fine) seen.find("status", `${response.url()}: ${response.status()}, not ${expected}`);
  });
  try {
    const result = await work(page, seen);
    await askAgain(context, seen);
    return result;
  } catch (error) {
    seen.find("failed", String(error?.stack ?? error));
    return undefined;
  } finally {
    seen.leaving = true;
    await page.close();
  }
}

/** Every address that the browser gave up must answer to whoever waits for it. */
async function askAgain(context, seen) {
  for (const url of seen.unwanted) {
    const response = await context.request.get(url, { timeout: 10_000 });
    const expected = seen.expected.get(url) ?? 200;
    if (response.status() !== expected) {
      seen.find("request", `${url}: given up by the browser, and ${response.status()} when asked again`);
    }
  }
}

/** Width, and what axe-core says. */
export async function check(page, seen, scheme) {
  const [content, window] = await page.evaluate(() =>
    [document.scrollingElement.scrollWidth, innerWidth]);
  if (content > window) {
    const wide = await page.evaluate(() => [...document.querySelectorAll("body *")]
      .filter((element) => element.getBoundingClientRect().right > innerWidth + 0.5)
      .slice(0, 3).map((element) => element.outerHTML.slice(0, 120)));
    seen.find("overflow", `${content} px on ${window} px: ${wide.join(" ")}`);
  }
  // Through the protocol, not as a script of the page: its policy allows none of ours.
  const found = await page.evaluate(`(() => {
    if (!globalThis.axe) { ${axe} }
    return axe.run(document, { resultTypes: ["violations"] });
  })()`);
  if (found.passes.length === 0) seen.find("axe", "nothing was checked");
  for (const violation of found.violations) {
    if (!["serious", "critical"].includes(violation.impact)) continue;
    const nodes = violation.nodes.slice(0, 3).map((node) =>
      `${node.html.slice(0, 160)} ${node.any.map((any) => any.message).join("; ")}`);
    seen.find("axe", `${scheme} ${violation.impact} ${violation.id}: ${nodes.join(" | ")}`);
  }
}
