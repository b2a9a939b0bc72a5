/** The manual as a site, in a browser: from the disk and below a path of a web server. Every night: it needs a browser. */
import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openChromium } from '../../support/chromium.js';
import type { Chromium } from '../../support/chromium.js';

const run = promisify(execFile);
const PATH = '/manual/of/drover';
const TYPES: Record<string, string> = {
  html: 'text/html',
  css: 'text/css',
  js: 'text/javascript',
  png: 'image/png',
};

let root: string;
let site: string;
let chromium: Chromium;
let server: Server;
let served: string;
beforeAll(async () => {
  chromium = openChromium();
  root = await mkdtemp(join(tmpdir(), 'drover-site-'));
  site = join(root, 'a site');
  await run(process.execPath, ['dist/scripts/site.js', '--to', site]);
  server = createServer((request, response) => {
    const path = decodeURI(new URL(request.url ?? '', 'http://site').pathname);
    readFile(join(site, path.slice(PATH.length))).then(
      (content) => {
        const type = TYPES[path.split('.').at(-1) ?? ''] ?? 'application/octet-stream';
        response.writeHead(200, { 'content-type': `${type}; charset=utf-8` }).end(content);
      },
      () => response.writeHead(404).end(),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  served = `http://127.0.0.1:${(server.address() as AddressInfo).port}${PATH}`;
});
afterAll(async () => {
  server?.close();
  if (root !== undefined) await rm(root, { recursive: true, force: true });
});

const fileUrl = (page: string): string => {
  const [path = '', query] = page.split('?');
  return `${pathToFileURL(join(site, path)).href}${query === undefined ? '' : `?${query}`}`;
};
const places: [string, (page: string) => string][] = [
  ['from the disk', fileUrl],
  ['below a path of a web server', (page) => `${served}/${page}`],
];

describe.each(places)('the site %s', (_, urlOf) => {
  it('finds what is asked for, in English and in Chinese, and asks nobody else', async () => {
    const answers = async (question: string) => {
      const { dom, asked } = await chromium.open(urlOf(`search.html?q=${encodeURIComponent(question)}`));
      expect(asked).toEqual([]);
      return [...dom.matchAll(/<a href="([^"]+)">[^<]*<\/a><p>/g)].map(([, link]) => link);
    };
    expect(await answers('fault harness')).toContain('docs/guarantees.html#the-fault-harness');
    expect(await answers('WorkersBusy')).toContain('docs/operating.html#what-to-do-when');
    expect((await answers('撤销'))[0]).toMatch(/^docs\/zh\//);
    expect(await answers('quuxly zzyzx')).toEqual([]);
  });

  it('draws diagrams and shows the version, without a request to anybody', async () => {
    const { version } = JSON.parse(await readFile('package.json', 'utf8')) as { version: string };
    const { dom, asked } = await chromium.open(urlOf('docs/ARCHITECTURE.html'));
    expect(asked).toEqual([]);
    expect(dom).toMatch(/<pre class="mermaid"[^>]*><svg /);
    expect(dom).toContain(`<span class="version">${version}</span>`);
    expect(dom).toMatch(/aria-current="page">Architecture</);
  });
});

it('the browser would have told of a request', async () => {
  const page = join(root, 'asks.html');
  await writeFile(
    page,
    '<img src="http://elsewhere.invalid/pixel.png"><script src="http://127.0.0.1:18999/x.js"></script>',
  );
  const { asked } = await chromium.open(pathToFileURL(page).href);
  expect(asked.sort()).toEqual(['http://127.0.0.1:18999/x.js', 'http://elsewhere.invalid/pixel.png']);
});

it('a link that leads nowhere fails the build, and so does a folder that is no site', async () => {
  await expect(run(process.execPath, ['dist/scripts/site.js', '--to', root])).rejects.toMatchObject({
    code: 1,
    stderr: expect.stringContaining('is no site of this manual'),
  });
  expect(await readdir(root)).toContain('a site');
});
