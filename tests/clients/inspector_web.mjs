// Somebody who uses the Inspector's page: connects, looks at the tools, and runs one. What is on the page
// then comes as JSON, with a picture of it.
//   INSPECTOR_URL, with its token; INSPECTOR_PICTURE: where the picture goes; CHROMIUM: the browser
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const require = createRequire(pathToFileURL(process.env.BERTH_CLIENTS + '/package.json'));
const { default: puppeteer } = await import(pathToFileURL(require.resolve('puppeteer-core')));
const told = { errors: [] };
// Of root the browser does not make its own sandbox; it sees nothing but a page of this host.
const root = process.getuid() === 0 ? ['--no-sandbox'] : [];
const browser = await puppeteer.launch({ executablePath: process.env.CHROMIUM, headless: true,
  args: [...root, '--disable-dev-shm-usage'] });
const page = await browser.newPage();
await page.setViewport({ width: 1400, height: 1000 });
page.on('pageerror', (error) => told.errors.push(String(error)));

const onPage = (text) => page.waitForFunction((wanted) => document.body.innerText.includes(wanted),
  { timeout: 20000 }, text);

/** Clicks what begins with this word, once it is there. */
async function press(selector, word) {
  const found = await page.waitForFunction((all, wanted) => [...document.querySelectorAll(all)].find(
    (each) => (each.getAttribute('aria-label') || each.innerText).trim().startsWith(wanted)) || null,
  { timeout: 20000 }, selector, word);
  await found.evaluate((each) => each.click());
}

try {
  await page.goto(process.env.INSPECTOR_URL, { waitUntil: 'load' });
  await press('input', 'Connect or disconnect');
  await onPage('\nConnected');
  told.connected = await page.evaluate(() => document.body.innerText);
  await press('label', 'Tools');
  await onPage('Tools (');
  told.tools = await page.evaluate(() => document.body.innerText);
  await press('button', 'Run a command');
  await onPage("in this session's own sandbox");
  // The field before the button that makes it large.
  const command = await page.evaluateHandle(() => {
    const all = [...document.querySelectorAll('input, textarea, button')];
    return all[all.findIndex((each) => each.getAttribute('aria-label') === 'Enlarge command') - 1];
  });
  await command.asElement().type('echo "said by $((6 * 7))"');
  await press('button', 'Execute Tool');
  await onPage('said by 42');
  told.result = await page.evaluate(() => document.body.innerText);
} catch (error) {
  told.errors.push(String(error));
} finally {
  await page.screenshot({ path: process.env.INSPECTOR_PICTURE });
  await browser.close();
}
process.stdout.write(JSON.stringify(told) + '\n');
