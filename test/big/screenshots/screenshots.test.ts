/**
 * The pictures of the manual, made from what runs. `DROVER_RECORD=1` writes them into docs/images; else they are made and
 * looked at, so that what they show keeps existing. Every night: they need a browser.
 */
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openChromium } from '../../support/chromium.js';
import type { Chromium } from '../../support/chromium.js';
import { servers } from '../../support/servers.js';
import { openStack } from '../../support/stack.js';
import type { Stack } from '../../support/stack.js';
import { shown } from './terminal.js';

const run = promisify(execFile);
/** A page with all pictures stays small. */
const MAX_BYTES = 150_000;
const PLAN = 'move-web';

let root: string;
let images: string;
let chromium: Chromium;
let stack: Stack;
beforeAll(async () => {
  chromium = openChromium();
  root = await mkdtemp(join(tmpdir(), 'drover-pictures-'));
  images = process.env.DROVER_RECORD === '1' ? resolve('docs/images') : join(root, 'images');
  await mkdir(images, { recursive: true });
  stack = await openStack('shop');
  await bringShop();
});
afterAll(async () => {
  await stack?.close();
  if (root !== undefined) await rm(root, { recursive: true, force: true });
});

/** A plan of three stages that takes some seconds, so that there is something to watch. */
async function bringShop(): Promise<void> {
  const apply = (name: string, data: Record<string, string>) => ({
    name,
    type: 'KubernetesResource' as const,
    resource: {
      operation: 'Apply' as const,
      manifest: JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data }),
    },
  });
  const pause = (name: string, duration: string) => ({ name, type: 'Wait' as const, wait: { duration } });
  await stack.workflow('drain', {
    actions: [apply('announce', { maintenance: 'on' }), pause('sessions-end', '2s')],
  });
  await stack.workflow('database', {
    actions: [pause('promote', '6s'), apply('primary', { site: 'site-b' })],
  });
  await stack.workflow('cache', { actions: [apply('flush', { done: 'yes' }), pause('warm-up', '5s')] });
  await stack.workflow('open', { actions: [apply('traffic', { site: 'site-b' })] });
  const uses = (...names: string[]) => names.map((name) => ({ workflowRef: { name } }));
  await stack.plan(PLAN, {
    stages: [
      { name: 'drain', workflows: uses('drain') },
      { name: 'move', parallel: true, workflows: uses('database', 'cache') },
      { name: 'open', workflows: uses('open') },
    ],
  });
}

const env = () => ({
  PATH: `${join(root, 'bin')}:${process.env.PATH}`,
  FORCE_COLOR: '1',
  NO_COLOR: undefined,
  KUBECONFIG: undefined,
});
/** `drover` alone stands in the pictures. */
async function bringCommand(): Promise<void> {
  await mkdir(join(root, 'bin'), { recursive: true });
  const text = `#!/bin/sh\nexec '${process.execPath}' '${resolve('bin/drover.js')}' "$@" --data-dir '${servers.dataDir}' -n '${stack.namespace}'\n`;
  await writeFile(join(root, 'bin', 'drover'), text, { mode: 0o755 });
}

async function picture(name: string, page: string, size: { width: number; height: number }): Promise<void> {
  const file = join(images, name);
  await chromium.picture(page, file, size);
  const { size: bytes } = await stat(file);
  expect(bytes).toBeGreaterThan(3_000);
  expect(bytes).toBeLessThan(MAX_BYTES);
}

async function terminalPicture(
  name: string,
  command: string,
  when?: (text: string) => boolean,
): Promise<string> {
  const { html, text, size } = await shown(command, { env: env(), ...(when !== undefined && { when }) });
  const page = join(root, `${name}.html`);
  await writeFile(page, html);
  await picture(name, pathToFileURL(page).href, size);
  return text;
}

describe('pictures', () => {
  it('of a run in a terminal: while it goes on, in the list, and as a tree', async () => {
    await bringCommand();
    await run(join(root, 'bin', 'drover'), ['run', PLAN, '--name', 'move-web-1', '--yes']);
    const watched = await terminalPicture(
      'watch.png',
      'drover watch move-web-1',
      (text) => /● promote/.test(text) && /● warm-up/.test(text),
    );
    expect(watched).toContain('promote');
    const list = await terminalPicture('get.png', 'drover get');
    expect(list).toMatch(/move-web-1.*Succeeded/);
    const tree = await terminalPicture('describe.png', 'drover describe move-web-1');
    expect(tree).toMatch(/warm-up/);
  });

  it('of the front page of the manual', async () => {
    const site = join(root, 'site');
    await run(process.execPath, ['dist/scripts/site.js', '--to', site]);
    await picture('site.png', pathToFileURL(join(site, 'index.html')).href, { width: 1080, height: 680 });
  });
});
