// Looks at the report of the demo in a browser, and says the first thing that is not as it should be.
//
//   look.cjs CHROMIUM FOLDER [PICTURE.png]
'use strict';
const assert = require('node:assert/strict');
const fs = require('node:fs');
const path = require('node:path');
const { pathToFileURL } = require('node:url');
const { chromium } = require('playwright-core');

const [executablePath, folder, picture] = process.argv.slice(2);
const pages = fs.readdirSync(folder).filter((name) => name.endsWith('.html'));
const address = (name) => pathToFileURL(path.join(folder, name)).href;
const flags = [
  '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update',
  '--disable-sync', '--disable-dev-shm-usage',
];
// Far beyond what anything here takes on a loaded machine: a limit for what hangs, in milliseconds.
const patience = 120000;

async function main() {
  let browser;
  try {
    // Headless, with a new and empty user data folder.
    browser = await chromium.launch({ executablePath, headless: true, args: flags, timeout: patience });
  } catch (error) {
    console.log(`skipped: the report is not looked at in a browser: ${executablePath} does not start: ${error.message.split('\n')[0]}`);
    return;
  }
  try {
    await withoutScripts(browser);
    await withScripts(browser);
    await narrow(browser);
    await printed(browser);
    await contrast(browser);
    if (picture) await draw(browser);
  } finally {
    await browser.close();
  }
  console.log(`${pages.length} pages looked at: with and without scripts, light, dark, narrow, printed`);
}

async function open(browser, name, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1180, height: 900 }, ...options });
  context.setDefaultTimeout(patience);
  const page = await context.newPage();
  const wrong = [];
  page.on('pageerror', (error) => wrong.push(error.message));
  page.on('requestfailed', (request) => wrong.push(`${request.url()} is missing`));
  page.on('request', (request) => { if (!/^(file|data):/.test(request.url())) wrong.push(`asks for ${request.url()}`); });
  await page.goto(address(name));
  assert.deepEqual(wrong, [], name);
  return page;
}

async function withoutScripts(browser) {
  for (const name of pages) {
    const page = await open(browser, name, { javaScriptEnabled: false });
    assert.ok((await page.locator('h1').first().innerText()).length > 0, name);
    await page.context().close();
  }
  const index = await open(browser, 'index.html', { javaScriptEnabled: false });
  assert.match(await index.locator('.headline').innerText(), /neurons not proven impossible/);
  assert.equal(await index.locator('table.sortable tbody tr').count(), 3);
  await index.context().close();
  const gallery = await open(browser, 'adversarial.html', { javaScriptEnabled: false });
  assert.equal(await gallery.locator('#filters').isVisible(), false);
  assert.ok(await gallery.locator('.card').count() > 0);
  const size = await gallery.locator('.card img').first().boundingBox();
  assert.ok(size.width / 3 >= 112, `pictures are ${size.width / 3} wide`);
  await gallery.context().close();
}

async function withScripts(browser) {
  // Sort: the layer with the fewest comes first, then the one with most.
  const index = await open(browser, 'index.html');
  const first = () => index.locator('table.sortable tbody tr').first().locator('th').innerText();
  await index.getByRole('button', { name: 'required' }).click();
  assert.equal(await first(), 'relu3');
  await index.getByRole('button', { name: 'required' }).click();
  assert.equal(await first(), 'relu1');
  await index.context().close();

  // Filter: one found label at a time.
  const gallery = await open(browser, 'adversarial.html');
  const all = await gallery.locator('.card:visible').count();
  const choice = gallery.getByLabel('taken for');
  const value = await choice.locator('option').nth(1).getAttribute('value');
  await choice.selectOption(value);
  const some = await gallery.locator('.card:visible').count();
  assert.ok(some > 0 && some < all, `${some} of ${all}`);
  for (const card of await gallery.locator('.card:visible').all()) assert.equal(await card.getAttribute('data-found'), value);
  await gallery.context().close();

  // Search: words and verdicts.
  const requirements = await open(browser, 'requirements.html');
  await requirements.getByLabel('Search requirements').fill('relu3');
  assert.equal(await requirements.locator('#requirements-table tbody tr:visible').count(), 32);
  await requirements.getByLabel('Search requirements').fill('');
  await requirements.getByLabel('verdict').selectOption('open');
  assert.equal(await requirements.locator('#requirements-table tbody tr:visible').count(), 2);
  await requirements.context().close();

  // Hover: the neuron under the pointer, as the table has it.
  const layer = await open(browser, 'layer-relu1.html');
  const frame = await layer.locator('svg.map').boundingBox();
  await layer.mouse.move(frame.x + 2, frame.y + 2);
  assert.match(await layer.locator('#readout').innerText(), /^Neuron 0 \(map 0, row 0, column 0\): covered, shown by (seed|test) \d+; u seen from -?[\d.]+ to -?[\d.]+$/);
  await layer.context().close();

  // Keyboard: the first links are reached one after the other.
  const keyboard = await open(browser, 'index.html');
  await keyboard.keyboard.press('Tab');
  assert.equal(await keyboard.evaluate(() => document.activeElement.textContent), 'Summary');
  await keyboard.context().close();
}

async function narrow(browser) {
  for (const name of pages) {
    const page = await open(browser, name, { viewport: { width: 390, height: 844 } });
    const width = await page.evaluate(() => document.documentElement.scrollWidth);
    assert.ok(width <= 390, `${name} is ${width} wide on a screen of 390`);
    await page.context().close();
  }
}

async function printed(browser) {
  const page = await open(browser, 'index.html', { colorScheme: 'dark' });
  const paper = await page.pdf({ format: 'A4' });
  assert.ok(paper.length > 10000);
  await page.emulateMedia({ media: 'print' });
  const ground = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  assert.equal(ground, 'rgb(255, 255, 255)', 'paper is white whatever the screen is');
  await page.context().close();
}

// Text against the ground of the page: at least 4.5, light and dark.
async function contrast(browser) {
  for (const colorScheme of ['light', 'dark']) {
    const page = await open(browser, 'index.html', { colorScheme });
    const ratios = await page.evaluate(() => {
      const light = (colour) => {
        const parts = colour.match(/[\d.]+/g).slice(0, 3).map((n) => { const c = n / 255; return c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4; });
        return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2];
      };
      const ground = light(getComputedStyle(document.body).backgroundColor);
      return Array.from(document.querySelectorAll('p, a, td, th, h1, h2, figcaption, summary, span, svg text')).map((element) => {
        const style = getComputedStyle(element);
        const ink = light(element.namespaceURI.endsWith('svg') ? style.fill : style.color);
        return [(Math.max(ink, ground) + 0.05) / (Math.min(ink, ground) + 0.05), element.textContent.trim().slice(0, 40), element.getAttribute('class')];
      }).filter(([, text, kind]) => text && !/count/.test(kind || ''));
    });
    for (const [ratio, text] of ratios) assert.ok(ratio >= 4.5, `${colorScheme}: contrast ${ratio.toFixed(2)} of "${text}"`);
    await page.context().close();
  }
}

async function draw(browser) {
  const page = await open(browser, 'index.html', { viewport: { width: 1100, height: 640 } });
  await page.screenshot({ path: picture });
  await page.context().close();
}

main().catch((error) => {
  console.error(error.message);
  process.exit(1);
});
