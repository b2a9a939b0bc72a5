import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { BRIDGE } from '../crd-bridge/config.js';
import { readOptions } from '../runtime/options/read-options.js';
import { WORKER } from '../worker/config.js';
import { PROGRAMS } from './bundle/programs.js';

interface Service {
  image: string;
  command?: string[];
  restart?: string;
  depends_on?: Record<string, { condition: string }>;
  environment?: Record<string, string>;
  healthcheck?: { test: string[] };
  volumes?: string[];
  ports?: string[];
}

const root = fileURLToPath(new URL('..', import.meta.url));
const text = await readFile(`${root}docker-compose.yml`, 'utf8');
const { services, volumes } = parse(text, { merge: true }) as {
  services: Record<string, Service>;
  volumes: Record<string, unknown>;
};
const oneShot = (service: Service): boolean => service.restart?.startsWith('on-failure') ?? false;
const all = Object.entries(services).map(([name, service]) => ({ name, service }));

test.each(all)('$name has a pinned image', ({ service }) => {
  const image = service.image.replace(/\$\{[A-Z_]+:-([^}]+)\}/g, '$1');
  expect(image).toMatch(/:\d+\.\d+(\.\d+)?(-[a-z]+)?$/);
});

const waiting = all.filter(({ service }) => service.depends_on !== undefined);
test.each(waiting)('$name waits for what is there, in a way that can come true', ({ service }) => {
  for (const [name, { condition }] of Object.entries(service.depends_on ?? {})) {
    const needed = services[name];
    expect(needed, name).toBeDefined();
    expect(condition).toBe(
      needed !== undefined && oneShot(needed) ? 'service_completed_successfully' : 'service_healthy',
    );
  }
});

test.each(all)('$name is looked after, mounts what exists, and listens on loopback only', ({ service }) => {
  if (!oneShot(service)) expect(service.healthcheck?.test.length).toBeGreaterThan(1);
  for (const mount of service.volumes ?? []) {
    const [source = ''] = mount.split(':');
    if (source.startsWith('.')) expect(existsSync(root + source)).toBe(true);
    else if (!source.startsWith('$')) expect(Object.keys(volumes)).toContain(source);
  }
  for (const port of service.ports ?? []) expect(port).toMatch(/^127\.0\.0\.1:/);
});

test('bridge and worker understand their variables', () => {
  const settings = (name: string): Record<string, string> => services[name]?.environment ?? {};
  const known = new Set(['TEMPORAL_ADDRESS', 'TEMPORAL_NAMESPACE']);
  for (const name of ['bridge', 'worker']) {
    for (const variable of Object.keys(settings(name))) {
      if (!known.has(variable)) expect(variable).toMatch(/^DROVER_/);
    }
  }
  const values = {
    kubeconfig: '/etc/drover/kubeconfig',
    'health-host': '0.0.0.0',
    'health-port': 8081,
    'metrics-port': 9090,
  };
  const understood = { kind: 'values', values, warnings: [] };
  expect(readOptions(BRIDGE, [], settings('bridge'))).toMatchObject(understood);
  expect(readOptions(WORKER, [], settings('worker'))).toMatchObject(understood);
});

test('the programs are where the build leaves them', () => {
  for (const name of ['bridge', 'worker']) {
    const [program = ''] = services[name]?.command ?? [];
    expect(Object.keys(PROGRAMS).map((file) => `dist/programs/${file}.js`)).toContain(program);
  }
});

test('an image is built from every room that programs are compiled from', async () => {
  const config = JSON.parse(await readFile(`${root}tsconfig.build.json`, 'utf8')) as { include: string[] };
  const letIn = (await readFile(`${root}deploy/Dockerfile.dockerignore`, 'utf8')).split('\n');
  // Measurements are for a tree alone.
  const rooms = config.include.filter((room) => room !== 'bench');
  expect(rooms.filter((room) => !letIn.includes(`!${room}`))).toEqual([]);
});
