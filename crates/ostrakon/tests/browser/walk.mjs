// Walks every page of a running demo in a real Chromium and tries what people do there.
//
//   node walk.mjs http://127.0.0.1:PORT NAME PASSWORD
//
// Prints one object per line: {"walked": …} for each page that was looked at, {"tried": …} for each
// thing that was tried, {"finding": …} for everything that is not as it should be. It judges
// nothing by itself: the test that calls it counts.
import { createRequire } from "node:module";
import { join } from "node:path";
import { check, say, watched } from "./watch.mjs";
import * as deeds from "./deeds.mjs";
import * as links from "./links.mjs";

const require = createRequire(join(process.env.PACKAGES, "here.js"));
const { chromium } = require("playwright-core");

const [home, name, password] = process.argv.slice(2);
const SIZES = { desktop: { width: 1280, height: 900 }, phone: { width: 390, height: 844 } };
const LANGUAGES = { en: "en-US", zh: "zh-CN" };
// At reduced counts pages are seen in each size and in each language, and not in each size of each.
const WAYS = process.env.FULL
  ? Object.keys(SIZES).flatMap((size) => Object.keys(LANGUAGES).map((tongue) => [size, tongue]))
  : [["desktop", "en"], ["phone", "zh"]];

// Whoever reads in Shanghai is eight hours ahead of what the server writes.
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM,
  args: ["--no-sandbox", "--disable-quic", "--disable-background-networking"],
  env: { ...process.env, TZ: "Asia/Shanghai" },
});

/** Pages that anybody sees: path, status, whether they are in the reader's language, what must be
 * on them. */
const OPEN = [
  ["/", 200, true, "ol.events > li"],
  ["/search", 200, true, ".empty"],
  ["/search?q=dev", 200, true, "main table a[href='/chains/devnet']"],
  ["/search?q=zzzz", 200, true, ".empty"],
  ["/login", 200, true, "main input[name=password]"],
  ["/register", 200, true, "main input[name=password]"],
  ["/chains", 200, true, "main table a[href='/chains/devnet']"],
  ["/chains/devnet", 200, true, "main table"],
  ["/status", 200, true, "svg.chart"],
  ["/shards", 200, false, "table"],
  ["/api/docs", 200, false, "#operation-events"],
  ["/nothing/here", 404, false, "main h1"],
  ["/chains/nothing", 404, false, "main h1"],
  ["/chains/nothing/epochs", 404, true, "main h1"],
];

/** Pages of the explorer. Hashes and addresses are those that its lists lead to. */
const EXPLORED = (found) => [
  ["/epochs", 200, true, "#epochs tbody tr"],
  ["/epochs?from=100", 200, true, "main .pager a[rel=next]"],
  ["/epochs/100", 200, true, "main .pager a[rel=prev]"],
  ["/epochs/999999999", 404, true, "main h1"],
  ["/epochs/one", 400, true, "main h1"],
  ["/blocks", 200, true, "#blocks tbody tr"],
  ["/blocks?from=30", 200, true, "main .pager a[rel=next]"],
  [found.block, 200, true, "table.fields"],
  ["/blocks/0x" + "0".repeat(64), 404, true, "main h1"],
  ["/blocks/0x12", 400, true, "main h1"],
  ["/transactions", 200, true, "#transactions tbody tr"],
  [found.transaction, 200, true, "table.fields"],
  ["/transactions/0x" + "0".repeat(64), 404, true, "main h1"],
  [found.account, 200, true, "main tbody a"],
  [found.account + "?direction=out", 200, true, "main tbody a"],
  ["/accounts/0x" + "1".repeat(40), 200, true, ".empty"],
  ["/accounts/cfx:aa", 400, true, "main h1"],
  ["/miners", 200, true, "main tbody meter"],
  [found.miner, 200, true, "main tbody a"],
  ["/pivot-chain", 200, true, "#pivot-chain tbody tr"],
  ["/graph", 200, true, "svg.graph a.pivot"],
  ["/graph?from=0&to=60", 200, true, "svg.graph a.pivot"],
  ["/graph?from=9&to=3", 400, true, "main h1"],
  ["/charts", 200, true, "svg.chart"],
  ["/charts?blocks=100000", 200, true, "svg.chart"],
  ["/journal", 200, true, "#journal tbody tr"],
  [found.change, 200, true, "main tbody a"],
  ["/journal/0", 404, true, "main h1"],
].map(([path, ...rest]) => [path.startsWith(CHAIN) ? path : CHAIN + path, ...rest]);
const CHAIN = "/chains/devnet";

/** Pages of staking. Hashes, keys and the cursor are those that its lists lead to. */
const STAKED = (found) => [
  ["", 200, true, "#curves svg.chart"],
  ["/providers", 200, true, "#providers tbody meter"],
  ["/providers?cursor=abc", 400, true, "main h1"],
  [found.provider, 200, true, "main tbody a"],
  ["/stakers", 200, true, "#stakers .pager a[rel=next]"],
  [found.more, 200, true, "main tbody meter"],
  [found.staker, 200, true, "main tbody a"],
  [found.staker + "?state=active", 200, true, ".tabs.small a[aria-current]"],
  ["/stakers/" + "0".repeat(64), 404, true, "main h1"],
  [found.delegation, 200, true, "ol.life li"],
  ["/delegations/" + "0".repeat(64), 404, true, "main h1"],
  ["/delegations/12", 400, true, "main h1"],
  ["/unprocessable", 401, false, "main h1"],
].map(([path, ...rest]) => [path.startsWith(STAKING) ? path : STAKING + path, ...rest]);
const STAKING = "/staking";

/** Pages of somebody who is logged in. */
const OWN = (project) => [
  ["/", 200, true, "nav.who a[href='/account']"],
  ["/account", 200, true, "form[action='/account/tokens']"],
  [project, 200, true, "form[action$='/rename']"],
  ["/accounts/" + name, 200, true, "form button.quiet"],
  ["/staking/unprocessable", 200, true, "main .kept, main .empty"],
  ["/accounts/nobody-here", 404, false, "main h1"],
];

/** Somebody with a browser of this size and language. */
function reader(size, language, session) {
  const context = { viewport: SIZES[size], locale: LANGUAGES[language], storageState: session };
  if (size === "phone") Object.assign(context, { isMobile: true, hasTouch: true });
  return browser.newContext(context);
}

try {
  const person = await reader("desktop", "en");
  const signed = await deeds.signs(person, home, name, password);
  const found = await deeds.explores(person, home + CHAIN);
  const staked = await deeds.stakes(person, home + STAKING);
  await person.close();

  for (const [size, language] of WAYS) {
    const anybody = await reader(size, language);
    const pages = [...OPEN, ...EXPLORED(found), ...STAKED(staked)];
    for (const page of pages) await walk(anybody, "anybody", size, language, page);
    await deeds.keyboard(anybody, home, `${size} ${language}`);
    await deeds.times(anybody, home, `${size} ${language}`);
    await anybody.close();
    const owner = await reader(size, language, signed.session);
    for (const page of OWN(signed.project)) await walk(owner, "owner", size, language, page);
    await owner.close();
  }
  const follower = await reader("phone", "en");
  await deeds.live(follower, home);
  await deeds.renews(follower, home + CHAIN);
  await deeds.recounts(follower, home + STAKING);
  await follower.close();
  const owner = await reader("desktop", "en", signed.session);
  await deeds.searches(owner, home, name, signed.project);
  await links.follow(owner, home);
  await owner.close();
  say({ done: true });
} finally {
  await browser.close();
}

async function walk(context, who, size, language, [path, status, spoken, needed]) {
  // Ids, hashes and addresses are new at every start; a report should not differ by them.
  const shown = path.startsWith("/projects/") ? "/projects/{id}"
    : path.replace(/(0x)?[0-9a-f]{64}|net1234:\w+|cursor=.+/, "{id}").replace(/journal\/[1-9]\d*/, "journal/{id}");
  const where = `${shown} ${who} ${size} ${language}`;
  await watched(context, where, async (page, seen) => {
    seen.expect(home + path, status);
    await page.goto(home + path, { waitUntil: "load" });
    for (const scheme of ["light", "dark"]) {
      await page.emulateMedia({ colorScheme: scheme });
      await check(page, seen, scheme);
    }
    const tag = await page.evaluate(() => document.documentElement.lang);
    const expected = spoken ? language : "en";
    if (tag !== expected) seen.find("language", `the page says ${tag}, not ${expected}`);
    if (!await page.isVisible(needed)) seen.find("content", `${needed} is not shown`);
    await links.gather(page, status);
  });
  say({ walked: where });
}
