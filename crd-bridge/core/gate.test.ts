import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { createGate } from './gate.js';

function setup(looks: (string | undefined | Error)[]) {
  const told: string[] = [];
  let last: string | undefined | Error;
  const say = (_: object, message: string): void => void told.push(message);
  const gate = createGate({
    look: () => {
      last = looks.length > 0 ? looks.shift() : last;
      return last instanceof Error ? Promise.reject(last) : Promise.resolve(last);
    },
    openMs: 5,
    closedMs: 5,
    log: { debug: say, info: say, warn: say, error: say },
  });
  const abort = new AbortController();
  return { gate, told, abort, run: () => gate.run(abort.signal) };
}

it('is closed until a look has found nothing, tells so once, and opens by itself', async () => {
  const { gate, told, abort, run } = setup(['it runs', 'it runs', undefined]);
  let opened = 0;
  gate.onOpen(() => {
    opened += 1;
  });
  expect(gate.closed()).toContain('not looked yet');
  const running = run();
  await gate.whenOpen();
  expect(gate.closed()).toBeUndefined();
  await sleep(20);
  expect(opened).toBe(1);
  expect(told).toEqual(['nothing is begun: it runs', 'nothing is in the way: executions may begin']);
  abort.abort();
  await running;
});

it('closes again when the other controller comes back', async () => {
  const { gate, abort, run } = setup([undefined, 'back']);
  const running = run();
  await gate.whenOpen();
  await sleep(20);
  expect(gate.closed()).toBe('back');
  abort.abort();
  await running;
});

it('neither opens nor closes by a look that fails, and says why it stays closed', async () => {
  const shut = setup([new Error('forbidden')]);
  const first = shut.run();
  await sleep(20);
  expect(shut.gate.closed()).toContain('forbidden');
  shut.abort.abort();
  await first;
  const open = setup([undefined, new Error('away')]);
  const second = open.run();
  await open.gate.whenOpen();
  await sleep(20);
  expect(open.gate.closed()).toBeUndefined();
  open.abort.abort();
  await second;
});
