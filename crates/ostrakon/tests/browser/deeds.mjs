// What people do on the pages: sign in, use the keyboard, read times, follow what happens.
import { say, watched } from "./watch.mjs";

/** Does something on a new page; a thing that is not so is a finding. */
async function tries(context, what, work) {
  const result = await watched(context, what, async (page, seen) => {
    const must = (holds, detail) => {
      if (!holds) seen.find("deed", detail);
    };
    return work(page, must, seen);
  });
  say({ tried: what });
  return result;
}

const path = (page) => new URL(page.url()).pathname;

/** Registers, logs out, is refused with a wrong password, logs in as the demo's operator. */
export function signs(context, home, name, password) {
  return tries(context, "sign", async (page, must, seen) => {
    const press = async (what) => {
      seen.leaving = true;
      await Promise.all([page.waitForNavigation(), page.click(what)]);
      seen.leaving = false;
    };
    const send = async (form, values) => {
      for (const [field, value] of Object.entries(values)) {
        await page.fill(`${form} [name=${field}]`, value);
      }
      await press(`${form} button`);
    };
    const leave = () => press("form[action='/logout'] button");
    const LOGIN = "form[action='/login']";

    await page.goto(home + "/");
    await press("nav.who a");
    must(path(page) === "/login", `the first page leads to ${path(page)} to log in`);
    await press("main a[href='/register']");
    await send("form[action='/register']", { name: "walker", password: "a long way to go" });
    must(path(page) === "/account", `registering leads to ${path(page)}`);
    must(await page.textContent("nav.who") === "walker", "the bar does not name the new account");
    await leave();
    must(path(page) === "/", `logging out leads to ${path(page)}`);
    seen.leaving = true;
    await page.goto(home + "/account");
    seen.leaving = false;
    must(path(page) === "/login", "the account is shown to somebody who has left");
    seen.expect(home + "/login", 401);
    await send(LOGIN, { name: "walker", password: "some other way" });
    must(await page.isVisible("[role=alert]"), "a wrong password is not told");
    seen.expect(home + "/login", 200);
    await send(LOGIN, { name: "walker", password: "a long way to go" });
    must(path(page) === "/account", `logging in leads to ${path(page)}`);
    await leave();
    await press("nav.who a");
    await send(LOGIN, { name, password });
    must(path(page) === "/account", `the demo's account is led to ${path(page)}`);
    const project = await page.getAttribute("main a[href^='/projects/']", "href");
    must(project, "the demo's account has no project");
    return { project, session: await context.storageState() };
  });
}

/** Finds by the box in the bar what has one name: it leads there at once. */
export function searches(context, home, name, project) {
  return tries(context, "search", async (page, must) => {
    const id = project.slice("/projects/".length);
    for (const [text, expected] of [[id, project], [name, `/accounts/${name}`],
      ["devnet", "/chains/devnet"]]) {
      await page.goto(home + "/chains");
      await page.fill(".find input", text);
      await Promise.all([page.waitForNavigation(), page.keyboard.press("Enter")]);
      must(path(page) === expected, `searching for ${expected} leads to ${path(page)}`);
    }
  });
}

/** Goes from the chain's page to a block, a transaction, an account, a miner and a switch. */
export function explores(context, chain) {
  return tries(context, "explore", async (page, must) => {
    const first = async (list, kind) => {
      await page.goto(chain + list);
      const href = await page.getAttribute(`main tbody a[href*="/${kind}/"]`, "href");
      must(href, `${list} leads to nothing in ${kind}`);
      return href;
    };
    // The pivot switches within the first minute.
    const patience = Date.now() + 120_000;
    await page.goto(chain + "/journal");
    while (!await page.$("main tbody a") && Date.now() < patience) {
      await page.waitForTimeout(1000);
    }
    return {
      block: await first("/blocks?from=300", "blocks"),
      transaction: await first("/transactions?from=300", "transactions"),
      account: await first("/transactions?from=300", "accounts"),
      miner: await first("/miners", "miners"),
      change: await first("/journal", "journal"),
    };
  });
}

/** The picture of the graph follows the chain, and holds still for whoever is in it. */
export function renews(context, chain) {
  return tries(context, "renew", async (page, must) => {
    await page.goto(chain + "/graph");
    await page.evaluate(() => { globalThis.sameDocument = true; });
    const newest = () => page.getAttribute("#graph svg.graph", "aria-label");
    const grows = async (before) => page.waitForFunction(
      (label) => document.querySelector("#graph svg.graph").getAttribute("aria-label") !== label,
      before, { timeout: 30_000 });
    await page.click("#graph summary");
    await page.evaluate(() => document.activeElement.blur());
    await grows(await newest());
    must(await page.evaluate(() => globalThis.sameDocument), "the page was loaded again");
    must(await page.isVisible("#graph details table"), "the table was closed");
    await page.focus("#graph a.pivot");
    await page.waitForTimeout(500);
    const held = await newest();
    await page.waitForTimeout(3000);
    must(await newest() === held, "the picture changed under the keyboard");
    await page.evaluate(() => document.activeElement.blur());
    await grows(held);
  });
}

/** Goes from the lists of staking to a finality provider, a staker and a delegation. */
export function stakes(context, staking) {
  return tries(context, "stake", async (page, must) => {
    const first = async (list, what) => {
      await page.goto(list);
      const href = await page.getAttribute(`main ${what}`, "href");
      must(href, `${list} does not lead on by ${what}`);
      return href;
    };
    const staker = await first(staking + "/stakers", "tbody a");
    return {
      staker,
      more: await first(staking + "/stakers", ".pager a[rel=next]"),
      provider: await first(staking + "/providers", "tbody a"),
      delegation: await first(new URL(staker, staking).href, "tbody a"),
    };
  });
}

/** The statistics of staking follow what happens, without a new page. */
export function recounts(context, staking) {
  return tries(context, "recount", async (page, must) => {
    await page.goto(staking);
    await page.evaluate(() => { globalThis.sameDocument = true; });
    await page.waitForFunction(
      (before) => document.querySelector("#figures").textContent !== before,
      await page.textContent("#figures"), { timeout: 30_000 });
    must(await page.evaluate(() => globalThis.sameDocument), "the page was loaded again");
  });
}

/** Reaches the content by keyboard alone: skip link, brand, sections. */
export function keyboard(context, home, where) {
  return tries(context, `keyboard ${where}`, async (page, must) => {
    const focused = () => page.evaluate(() => {
      const element = document.activeElement;
      const box = element.getBoundingClientRect();
      const shown = box.width > 0 && box.left >= 0 && box.top >= 0
        && box.right <= innerWidth && box.bottom <= innerHeight;
      return { link: element.getAttribute("href"), skip: element.matches(".skip"), shown,
        nav: element.closest("nav") !== null, main: element.closest("main") !== null,
        ring: getComputedStyle(element).outlineStyle !== "none" };
    });
    await page.goto(home + "/chains");
    await page.keyboard.press("Tab");
    const first = await focused();
    must(first.skip && first.shown, `the first stop is ${JSON.stringify(first)}`);
    await page.keyboard.press("Tab");
    const brand = await focused();
    must(brand.link === "/" && !brand.nav && brand.shown, `then ${JSON.stringify(brand)}`);
    for (const link of ["/", "/chains", "/staking", "/status", "/shards", "/api/docs"]) {
      await page.keyboard.press("Tab");
      const next = await focused();
      must(next.nav && next.link === link && next.shown && next.ring,
        `then ${JSON.stringify(next)}, not ${link}`);
    }
    await page.goto(home + "/chains");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    must(new URL(page.url()).hash === "#content", "the skip link leads nowhere");
    await page.keyboard.press("Tab");
    const next = await focused();
    must(next.main, `after the skip link comes ${JSON.stringify(next)}`);
  });
}

/** Times are those of the reader's zone, which is eight hours ahead and has no summer time. */
export function times(context, home, where) {
  return tries(context, `times ${where}`, async (page, must) => {
    await page.goto(home + "/status");
    const shown = await page.$$eval("time", (all) =>
      all.map((one) => ({ machine: one.dateTime, text: one.textContent })));
    must(shown.length > 0, "no time is shown");
    for (const { machine, text } of shown) {
      const there = new Date(Date.parse(machine) + 8 * 3600 * 1000).toISOString();
      const sorted = (line) => line.match(/\d+/g).map(Number).sort((a, b) => a - b).join(" ");
      must(sorted(text) === sorted(there.slice(0, 19)), `${machine} is shown as ${text}`);
    }
  });
}

/** The list of the first page gains what happens, newest first, without a new page. */
export function live(context, home) {
  return tries(context, "live", async (page, must) => {
    await page.goto(home + "/");
    await page.evaluate(() => { globalThis.sameDocument = true; });
    const texts = () => page.$$eval("ol.events > li", (all) => all.map((one) => one.textContent));
    const before = await texts();
    await page.waitForFunction(
      (first) => {
        const now = document.querySelector("ol.events > li");
        return now && now.textContent !== first;
      },
      before[0], { timeout: 60_000 });
    const after = await texts();
    must(await page.evaluate(() => globalThis.sameDocument), "the page was loaded again");
    const known = after.indexOf(before[0]);
    must(before.length === 0 || known > 0, `${after[0]} came, and ${before[0]} is at ${known}`);
    const ofChain = ["chain.tip", "scan.epochs"].some((kind) => after[0].includes(kind));
    must(ofChain ? after[0].includes("devnet") : after[0].includes("staking.delegations.changed"),
      `it is ${after[0]}`);
  });
}
