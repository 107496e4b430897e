// Every link of every page leads somewhere.
import { say } from "./watch.mjs";

const gathered = new Map();

/** Remembers where the links of this page lead. A page that says that there is no such page links
 * to itself, in the other language, and that is no mistake. */
export async function gather(page, status) {
  // The links of a drawing have no plain address of their own.
  const found = await page.$$eval("a[href]", (all) =>
    all.map((one) => new URL(one.getAttribute("href"), document.baseURI).href));
  const here = new URL(page.url()).pathname;
  for (const url of found) {
    if (status !== 200 && new URL(url).pathname === here) continue;
    if (!gathered.has(url)) gathered.set(url, page.url());
  }
}

/** Follows all of them, once each; a part of a page that is named must be there. */
export async function follow(context, home) {
  const pages = new Map();
  for (const [link, from] of gathered) {
    const find = (detail) => say({ finding: "link", where: from, detail: `${link}: ${detail}` });
    const url = new URL(link);
    if (url.origin !== home) {
      find("it leads away");
      continue;
    }
    const id = decodeURIComponent(url.hash.slice(1));
    url.hash = "";
    if (!pages.has(url.href)) pages.set(url.href, await read(context, url.href));
    const { status, text } = pages.get(url.href);
    if (status !== 200) find(`it is answered with ${status}`);
    if (id && !text.includes(`id="${id}"`)) find("there is no such part of the page");
  }
  say({ tried: "links", links: gathered.size, pages: pages.size });
}

async function read(context, url) {
  const response = await context.request.get(url, { headers: { accept: "text/html" } });
  return { status: response.status(), text: await response.text() };
}
